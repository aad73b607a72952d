"""Conversations at the edges of what the official package takes: see harmony_oracle.py."""

ANSWER = '{"role":"assistant","channel":"final","content":"x"}'

CONTENTS = [
    '[[]]',
    '[null]',
    '[{}]',
    '{}',
    '{ }',
    '{"type":"text","text":"x"}',
    '[{"type":"text","text":"x"},5]',
    '[{"type":"text","text":"x","type":"system_content"}]',
    '[{"type":null,"type":"text","text":"x"}]',
    '[{"text":5,"type":"text","text":"x"}]',
    '[{"text":"x","type":"text","text":5}]',
    '[{"type":"Text","text":"x"}]',
    '[{"type":["text"],"text":"x"}]',
    '[{"type":"system_content","reasoning_effort":"bad","reasoning_effort":"Low"}]',
    '[{"type":"system_content","tools":5,"tools":{}}]',
    '[{"type":"system_content","tools":{"a":5,"a":{"name":"a","tools":[]}}}]',
    '[{"type":"system_content","tools":{"b":{"name":"zz","tools":[]},"a":{"name":"a","tools":[]},"B":{"name":"B","tools":[]},"é":{"name":"é","tools":[]},"😀":{"name":"e","tools":[]},"～":{"name":"ff","tools":[]}}}]',
    '[{"type":"system_content","tools":{"a":{"name":"a","tools":[{"name":"t","description":"d","parameters":{"x":NaN,"x":1}}]}}}]',
    '[{"type":"system_content","tools":{"a":{"name":"a","tools":[{"name":"t","description":"d","parameters":{"x":NaN}}]}}}]',
    '[{"type":"system_content","tools":{"a":{"name":"a","tools":[{"name":"t","description":"d","parameters":[]}]}}}]',
    '[{"type":"system_content","tools":{"a":{"name":"a","tools":[{"name":"t","description":"d","parameters":{"\\ud800":1}}]}}}]',
    '[{"type":"system_content","tools":{"a":{"name":"a","x":NaN,"tools":[{"name":"t","description":"d","y":"\\ud800"}]}}}]',
    '[{"type":"system_content","tools":{"\\ud800":{"name":"a","tools":[]}}}]',
    '[{"type":"system_content","channel_config":{"valid_channels":["a"],"channel_required":"\\u0074rue"}}]',
    '[{"type":"system_content","channel_config":{"valid_channels":["a",null],"channel_required":true}}]',
    '[{"type":"system_content","channel_config":{"valid_channels":{},"channel_required":true}}]',
    '[{"type":"system_content","channel_config":{"valid_channels":["\\ud800"],"channel_required":true}}]',
    '[{"type":"system_content","channel_config":[]}]',
    '[{"type":"system_content","channel_config":{}}]',
    '[{"type":"system_content","type":"text","text":"x"}]',
]

SCHEMAS = [
    '"properties":{"a":{"oneOf":[]}}',
    '"properties":{"a":{"type":"string","oneOf":5,"description":"d","default":1}}',
    '"properties":{"a":{"oneOf":[{"type":"string","nullable":true},{"type":"null","nullable":true},{"enum":["null"],"type":"string","nullable":true}],"default":"q\\"x","enum":["q"]}}',
    '"properties":{"a":{"oneOf":[{"type":"string","description":"D","default":"x\\n","enum":["x"]},{"description":"D"},{"description":"E","default":"\\"y\\""}],"description":"D"}}',
    '"properties":{"a":{"oneOf":[{"description":"F"},{"description":"D"}],"description":"D"}}',
    '"properties":[]',
    '"properties":{"a":5,"b":null,"c":[],"d":"x","e":{"type":"array","items":5},"f":{"type":"array","items":{"type":"object","properties":{"z":{"type":"array","items":{"type":"object","description":"deep"}}}}}}',
    '"oneOf":[{"type":"object","properties":{"k":{"type":"string","default":"v","enum":["v"]}},"default":"v\\"","enum":["v"]}]',
    '"description":"obj\\nx","properties":{"o":{"type":"object","description":"inner"}},"required":["o",1]',
]

# ANSWER is replaced by a whole message.
TEXTS = [
    '{"messages":{}}',
    '{"messages":"","messages":[ANSWER]}',
    '{"messages":[ANSWER],"messages":[]}',
    '{"messages":[ANSWER],"messages":5}',
    '{"messages":[5],"messages":[ANSWER]}',
    '[ANSWER]',
    '"x"',
    '5',
    'null',
    'NaN',
    '{}',
    '{"messages":[ANSWER]}\n\n',
    '\t{"messages":[ANSWER]}',
    '{"messages":[ANSWER,]}',
    "{'messages':[]}",
    '{"messages":[ANSWER]}//x',
    '{"messages":[ANSWER]}\x00',
]


def conversation(*messages):
    return '{"messages":[%s]}' % ",".join(messages)


def tool(schema, key):
    return (
        '{"role":"developer","content":[{"type":"developer_content","tools":{"%s":{"name":"functions",'
        '"tools":[{"name":"t","description":"d","parameters":{%s}}]}}}]}' % (key, schema)
    )


def texts():
    yield from (conversation(), conversation(ANSWER), conversation(ANSWER, ANSWER))
    yield from (text.replace("ANSWER", ANSWER) for text in TEXTS)
    for key in ("role", "channel", "content"):
        for value in ("null", "5", '"x"', "[]", "{}"):
            field = '"%s":%s' % (key, value)
            yield conversation("{%s,%s" % (field, ANSWER[1:]))
            yield conversation("%s,%s}" % (ANSWER[:-1], field))
    for content in CONTENTS:
        for role in ("system", "developer", "user"):
            yield conversation('{"role":"%s","content":%s}' % (role, content), ANSWER)
    for schema in SCHEMAS:
        yield conversation(tool('"type":"object",' + schema, "functions"), ANSWER)
        yield conversation(tool(schema, "n"), ANSWER)
    for depth in (100, 900, 980, 1100, 100000):
        nested = "[" * depth + "]" * depth
        yield '{"x":%s,%s' % (nested, conversation(ANSWER)[1:])
