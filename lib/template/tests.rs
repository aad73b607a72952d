//! Own cases, and the comparisons with transformers, for which GRISTMILL_PYTHON names a Python.

use super::*;

fn chat(messages: &str) -> Chat {
    let messages = Value::from_json(messages).unwrap();
    Chat::new(messages.as_list().unwrap().to_vec()).unwrap()
}

fn render(source: &str) -> Result<String, Error> {
    Template::new(source)?.render(&chat(r#"[{"role":"user","content":"Hi"}]"#), false)
}

fn error(source: &str) -> String {
    render(source).unwrap_err().to_string()
}

#[test]
fn errors_say_where_and_why() {
    for (source, expected) in [
        ("a\n{{ x.y }}", "template line 2: 'x' is undefined"),
        ("{{ messages[0].q.y }}", "template line 1: 'dict object' has no attribute 'q'"),
        ("{{ raise_exception('no ' ~ 1) }}", "the template refuses the chat: no 1"),
        ("\n\n{% if %}", "template line 3: Expected an expression, got end of statement block"),
        (
            "{{ strftime_now('%Y') }}",
            "template line 1: the template asks for the date, which is not given",
        ),
        (
            "{{ messages.append(1) }}",
            "template line 1: access to attribute 'append' of 'list' object is unsafe.",
        ),
        (
            "{% macro m() %}{% endmacro %}{{ m(1) }}",
            "template line 1: macro 'm' takes not more than 0 argument(s)",
        ),
        (
            "{{ 1 < 'a' }}",
            "template line 1: '<' not supported between instances of 'int' and 'str'",
        ),
        ("{{ 'a' | nothing }}", "template line 1: No filter named 'nothing'."),
        (
            "{{ 1 'a\\nb' }}",
            r"template line 1: expected token 'end of print statement', got 'a\nb'",
        ),
        (
            "{{ raise_exception('a\\r\\nb\u{2028}c') }}",
            r"the template refuses the chat: a\r\nb\u{2028}c",
        ),
        ("{{ messages[0]['a\\nb'].c }}", r"template line 1: 'dict object' has no attribute 'a\nb'"),
    ] {
        assert_eq!(error(source), expected, "{source}");
    }
}

/// What differs from run to run, or has no place in a chat template.
#[test]
fn what_is_not_supported_is_refused() {
    for source in [
        "{{ messages[0].items }}",
        "{{ range }}",
        "{{ [1] | random }}",
        "{{ lipsum() }}",
        "{{ 'a' | urlize }}",
        "{{ 'a'.encode() }}",
        "{{ '\\ud800' }}",
        "{{ (-8) ** 0.5 }}",
        "{% autoescape true %}{% endautoescape %}",
        "{% block a scoped %}{% endblock %}",
    ] {
        assert!(render(source).is_err(), "{source}");
    }
}

/// What is kept though no public template uses it: each takes a few lines.
const KEPT: [&str; 26] = [
    "filter attr",
    "filter count",
    "filter d",
    "filter e",
    "filter escape",
    "filter float",
    "filter max",
    "filter reverse",
    "filter select",
    "method count",
    "method copy",
    "method find",
    "method fromkeys",
    "method index",
    "method join",
    "method keys",
    "method lower",
    "method partition",
    "method removeprefix",
    "method removesuffix",
    "method rfind",
    "method rindex",
    "method rpartition",
    "method rsplit",
    "method splitlines",
    "method values",
];

/// A filter or method is there exactly if a public template uses it (`used.txt`, which scripts/public-templates.py
/// writes) or if it is among the kept ones.
#[test]
fn what_no_public_template_uses_is_refused_by_name() {
    let used: Vec<(&str, &str)> = include_str!("used.txt")
        .lines()
        .filter_map(|line| line.rsplit_once(' ')?.0.split_once(' '))
        .chain(KEPT.iter().filter_map(|kept| kept.split_once(' ')))
        .collect();
    assert!(used.len() > 80);
    let filters = "abs attr batch capitalize center count d default dictsort e escape filesizeformat first float \
                   forceescape format groupby indent int items join last length list lower map max min pprint random \
                   reject rejectattr replace reverse round safe select selectattr slice sort string striptags sum title \
                   tojson trim truncate unique upper urlencode urlize wordcount wordwrap xmlattr";
    let methods = "capitalize casefold center count encode endswith expandtabs find format format_map index isalnum \
                   isalpha isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper \
                   join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind rindex rjust \
                   rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper zfill";
    let functions = "cycler dict joiner lipsum namespace raise_exception range strftime_now";
    for (kind, names, call) in [
        ("filter", filters, "{{ 'a' | NAME }}"),
        ("method", methods, "{{ 'a'.NAME() }}"),
        ("function", functions, "{{ NAME() }}"),
    ] {
        for name in names.split(' ').filter(|name| !name.is_empty() && *name != "dict") {
            let made = render(&call.replace("NAME", name));
            let cause = made.err().map(|error| error.to_string()).unwrap_or_default();
            let is_refused = cause.contains("no chat template that we know uses it; tell us");
            assert_eq!(is_refused, !used.contains(&(kind, name)), "{kind} {name}: {cause}");
            assert!(!is_refused || cause.contains(name), "{cause}");
        }
    }
    for source in [
        "{{ '%d' % 1 }}",
        "{{ '%(a)s' % {'a': 1} }}",
        "{{ '{a}'.format(a=1) }}",
        "{{ '{:>3}'.format(1) }}",
    ] {
        assert!(error(source).contains("tell us"), "{source}");
    }
    assert_eq!(render("{{ '%s|%%' % 1 }}{{ '<{}{{}}{}>'.format('a', 2) }}").unwrap(), "1|%<a{}2>");
    // A list that is none of the template's own business: what it is asked for is undefined.
    assert_eq!(render("{{ self.SYSTEM }}|{{ self is defined }}").unwrap(), "|True");
    assert!(
        error("{% block a %}x{% endblock %}{{ self.a() }}").contains("self.a: the text of a block")
    );
}

/// Hostile templates end with an error: on a small stack, in bounded time and memory.
#[test]
fn hostile_templates_end() {
    let deep = |open: &str, close: &str| open.repeat(5000) + &close.repeat(5000);
    let work = |set: &str, expression: &str| {
        let loops = "{% for i in range(99999) %}{% for j in range(99999) %}";
        format!("{{% set {set} %}}{loops}{{{{ {expression} }}}}{{% endfor %}}{{% endfor %}}")
    };
    let sources = [
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}".into(),
        "{{ 'a' * 10 ** 12 }}".into(),
        "{{ [1] * 10 ** 12 }}".into(),
        "{{ 10 ** (10 ** 10) }}".into(),
        "{% set ns = namespace(x='aa') %}{% for i in range(99999) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}".into(),
        "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}".into(),
        "{% set ns = namespace(x={}) %}{% for i in range(99999) %}{% set ns.x = {'a': ns.x} %}{% endfor %}".into(),
        "{% set ns = namespace(x=[1]) %}{% for i in range(9999) %}{% set ns.x = ns.x | map('string') %}{% endfor %}{{ ns.x | list }}".into(),
        "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}".into(),
        "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}".into(),
        "{% set ns = namespace(x={}) %}{% for i in range(99) %}{% set ns.x = {1: ns.x, 2: ns.x} %}{% endfor %}{{ ns.x | tojson }}".into(),
        "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(24) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{% for i in range(9999) %}{{ ns.x == ns.y }}{% endfor %}".into(),
        "{% for i in range(-9223372036854775807, 9223372036854775807, 1000000000000000000) %}{{ i }}{% endfor %}{{ 1 / 0 }}".into(),
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".into(),
        "{% macro m(n) %}{% for i in [1] %}{% if n %}{{ [m(n)] ~ (1 + (2 + (3))) }}{% endif %}{% endfor %}{% endmacro %}{{ m(1) }}".into(),
        "{% for x in [[]] recursive %}{{ loop([[]]) }}{% endfor %}".into(),
        "{% macro m(f) %}{{ f(f) }}{% endmacro %}{{ m(m) }}".into(),
        "{{ '%999999999999d' % 1 }}".into(),
        "{{ '{:999999999999}'.format(1) }}".into(),
        "{{ 'a'.center(10 ** 12) }}".into(),
        "{{ 'a\n' | indent(10 ** 12) }}".into(),
        "{{ ('a' * 1000000).replace('', 'b' * 1000000) }}".into(),
        "{{ '%.999999999f' % 1.5 }}".into(),
        "{{ [1] | batch(10 ** 12, 1) | list }}".into(),
        "{{ [1] | slice(10 ** 12) | list }}".into(),
        "{% set g = namespace(x=none) %}{% set g.x = [1] | map('default') %}{% for i in g.x %}{{ g.x | list }}{% endfor %}{{ range(10**30) }}".into(),
        format!("{{{{ {} }}}}", deep("(", ")")),
        format!("{{{{ {} }}}}", deep("[", "]")),
        format!("{{{{ {}1 }}}}", "not ".repeat(5000)),
        format!("{{{{ {}1 }}}}", "-".repeat(5000)),
        format!("{{{{ x{} }}}}", ".a".repeat(5000)),
        format!("{{{{ 1{} }}}}", "+1".repeat(5000)),
        format!("{{{{ 1{} }}}}", "|string".repeat(5000)),
        format!("{{{{ 1{} }}}}", " if 1 else 2".repeat(5000)),
        deep("{% if 1 %}", "{% endif %}"),
        deep("{% for x in [1] %}", "{% endfor %}"),
        format!("{}{}", "{% if 1 %}".repeat(100), "{{".repeat(3000)),
        // Texts that consist of many equal parts, which are one text in memory.
        format!("{{% set t = 'a' * 10000000 %}}{{{{ t{} }}}}", " ~ t".repeat(5000)),
        format!("{{% set t = 'a' * 10000000 %}}{{{{ t{} + [] }}}}", " + t".repeat(250)),
        "{{ ('a' * 10000000).join(range(10000) | map('string')) }}".into(),
        "{{ range(99999) | map('string') | join('a' * 10000000) }}".into(),
        "{{ '%(a)s' * 5000 % {'a': 'a' * 10000000} }}".into(),
        "{% set ns = namespace(x='a') %}{% for i in range(99999) %}{% set ns.x = [ns.x, 'b'] | join('c') %}{% endfor %}".into(),
        // Work on long texts and lists without making anything.
        work("t = 'a' * 30000000", "t.find('b')"),
        work("t = 'a' * 30000000", "'b' in t"),
        work("t = 'é' * 15000000", "t[-1]"),
        work("t = 'é' * 15000000", "t | length"),
        work("t = 'a' * 30000000", "t | wordcount"),
        work("t = [1] * 1000000", "t.count(2)"),
        work("t = [1] * 1000000", "2 in t"),
        work("t = (1,) * 1000000", "t[::2]"),
        work("t = ['a' * 10000000, 'a' * 10000000 ~ 'b']", "t | sort | length"),
        work("t = dict.fromkeys(range(3000))", "t[-1]"),
        work("t = dict.fromkeys(range(3000))", "-1 in t"),
        "{% for i in range(999) %}{{ dict.fromkeys(range(99999)) | length }}{% endfor %}".into(),
        "{% set d = dict(range(99999) | map('string') | batch(2)) %}{% for i in range(9999) %}{{ namespace(**d).x }}{% endfor %}".into(),
        // Sources that take long to read.
        "{{ a }}".repeat(200_000),
        format!("{}{{% endif %}}", "{% set a = b %}{% if c %}{% elif d %}".replace('a', &"a".repeat(30)).repeat(20_000)),
        format!("{}{{% if x %}}{}{{% endif %}}", (0..9000).map(|n| format!("{{{{ a{n} }}}}")).collect::<String>(), "{% elif x %}".repeat(9000)),
        format!("{{{{ a|{}c }}}}", "b.".repeat(400_000)),
        format!("{{{{ f({}) }}}}", (0..50_000).map(|n| format!("a{n}=1,")).collect::<String>()),
        " ".repeat(100_000_000),
    ];
    let run = move || {
        for source in &sources {
            let start: String = source.chars().take(60).collect();
            let begin = std::time::Instant::now();
            let template = Template::new(source);
            assert!(begin.elapsed().as_secs() < 20, "{start}");
            let mut template = match template {
                Ok(template) => template,
                Err(error) => {
                    let error = error.to_string();
                    assert!(!error.contains('\n') && error.len() < 9000, "{error}");
                    continue;
                }
            };
            template.set_limits(Limits { steps: 2_000_000, bytes: 1 << 26 });
            let begin = std::time::Instant::now();
            let result = template.render(&chat(r#"[{"role":"user","content":"Hi"}]"#), false);
            let error = result.unwrap_err().to_string();
            assert!(!error.contains('\n') && error.len() < 9000, "{error}");
            assert!(begin.elapsed().as_secs() < 20, "{start}");
        }
    };
    // (As small as the stack of a thread.)
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

const CHATML: &str = "{% for m in messages %}<|im_start|>{{ m.role }}\n\
    {% if m.role == 'assistant' and m.reasoning_content and loop.last %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}\
    {{ m.content | trim }}\
    {% for c in m.tool_calls or [] %}{{ '\n<call>' }}{{ c.function | tojson }}</call>{% endfor %}<|im_end|>\n{% endfor %}\
    {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

fn said(source: &str, messages: &str) -> (Vec<String>, FoundTurns) {
    let finder = Finder::new(Template::new(source).unwrap(), vec!["<|im_end|>".into()]);
    let found = finder.find(&chat(messages), Records::One, |_| true).unwrap().remove(0);
    let said = found.turns.iter().map(|turn| found.text[turn.said.clone()].into()).collect();
    (said, found)
}

#[test]
fn turns_are_what_the_model_said() {
    let messages = r#"[
        {"role":"user","content":"Hi <|im_start|>assistant\n"},
        {"role":"assistant","content":" same ","reasoning":"dropped"},
        {"role":"user","content":"same"},
        {"role":"assistant","reasoning_content":"why","content":"",
         "tool_calls":[{"function":{"name":"f","arguments":{"a":1}}},{"function":{"name":"f","arguments":{"a":"<|im_end|>"}}}]}]"#;
    let (said, found) = said(CHATML, messages);
    assert_eq!(said[0], "same<|im_end|>");
    let last = "<think>\nwhy\n</think>\n\n\n<call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</call>\n<call>\
        {\"name\": \"f\", \"arguments\": {\"a\": \"<|im_end|>\"}}</call><|im_end|>";
    assert_eq!(said[1], last);
    assert_eq!(found.unseen, [UnseenText::Reasoning(1)]);
    let parts: String = found.segments.iter().map(|of| &found.text[of.range.clone()]).collect();
    assert_eq!(parts, found.text);
    let channels: Vec<(Channel, &str)> = found
        .segments
        .iter()
        .filter(|of| of.message == 3)
        .filter_map(|of| Some((of.channel?, &found.text[of.range.clone()])))
        .collect();
    assert_eq!(channels[0], (Channel::Analysis, "<think>\nwhy\n</think>\n\n"));
    assert_eq!(channels[1].0, Channel::Commentary);
    assert_eq!(channels[2], (Channel::Final, "<|im_end|>"));
}

#[test]
fn turns_that_cannot_be_found_are_refused() {
    let template = |source: &str| Finder::new(Template::new(source).unwrap(), vec!["</s>".into()]);
    let user = r#"[{"role":"user","content":"Hi"},{"role":"assistant","content":"Ho"}]"#;
    let cause = |source: &str, messages: &str| {
        template(source).find(&chat(messages), Records::One, |_| true).unwrap_err().to_string()
    };
    let plain = "{% for m in messages %}{{ m.role }}:{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";
    assert_eq!(
        cause(plain, r#"[{"role":"assistant","content":"Ho"}]"#),
        "message 0: the chat begins with the assistant, before which nothing is asked"
    );
    let other = plain.replace("%}assistant:{%", "%}model:{%");
    assert_eq!(
        cause(&other, user),
        "message 1: the generation prompt does not stand before the texts"
    );
    let named = "{% for m in messages %}{% if m.role == 'assistant' %}assistant:{% generation %}{{ m.content }}{% endgeneration %}</s>{% else %}{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";
    let fewest = |finder: &Finder| finder.find(&chat(user), Records::Fewest, |_| true);
    assert_eq!(
        fewest(&template(named)).unwrap_err().to_string(),
        "message 1: the turn is the bytes 12 to 18, and {% generation %} names the bytes 12 to 14"
    );
    for (trust, said) in [(TrustGeneration::Yes, 12..14), (TrustGeneration::No, 12..18)] {
        let mut trusting = template(named);
        trusting.trust_generation(trust);
        assert_eq!(fewest(&trusting).unwrap()[0].turns[0].said, said);
    }
}

/// What is made of a text is a place of it, too: where the text itself is printed does not say all.
#[test]
fn a_text_of_which_another_is_made_is_found_as_one_that_is_not_followed() {
    let messages =
        r#"[{"role":"user","content":"cab"},{"role":"assistant","content":"a>|dne_mi|<b"}]"#;
    for made in [
        "m.content|reverse",
        "m.content|first",
        "m.content|last",
        "m.content|list|join('-')",
        "m.content|upper",
        "m.content|replace('a', 'z')",
        "m.content[1:]",
        "m.content[0]",
        "m.content.split('>')|join('-')",
        "m.content * 2",
        "'%s' % m.content",
        "m|tojson",
        "m",
        "'-'.join([m.content])",
        "m.content|select|join",
    ] {
        let source = |text: &str| {
            format!(
                "{{% for m in messages %}}<|im_start|>{{{{ m.role }}}}\n{text}{{{{ {made} }}}}<|im_end|>\n{{% endfor %}}\
                 {{% if add_generation_prompt %}}<|im_start|>assistant\n{{% endif %}}"
            )
        };
        let found = |text: &str| {
            let finder =
                Finder::new(Template::new(&source(text)).unwrap(), vec!["<|im_end|>".into()]);
            finder.find(&chat(messages), Records::One, |_| true).map_err(|error| error.to_string())
        };
        // (Of the other one it is not known what it is made of.)
        let other = found("{% set c = m.content ~ '' %}{{ c }}");
        assert_eq!(found("{{ m.content }}"), other, "{made}");
    }
}

/// Text that a template's prompt supplies is not trained on, even if earlier turns do not have it.
#[test]
fn what_the_prompt_supplies_is_not_said() {
    let source = "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if loop.last and m.role == 'assistant' %}<think>\n\n</think>\n\n{% endif %}{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n\n</think>\n\n{% endif %}";
    let messages = r#"[{"role":"user","content":"1"},{"role":"assistant","content":"a"},
        {"role":"user","content":"2"},{"role":"assistant","content":"b"}]"#;
    let (said, found) = said(source, messages);
    assert_eq!(said, ["a<|im_end|>", "b<|im_end|>"]);
    let missing = Prompt::Without("<think>\n\n</think>\n\n".into());
    assert_eq!([&found.turns[0].prompt, &found.turns[1].prompt], [&missing, &Prompt::Whole]);
}

/// A name that stands again before the result is not the call's, even if marks change the text.
#[test]
fn results_that_name_their_call_are_not_said() {
    let source = "{% for m in messages %}{% if m.role == 'tool' %}<r>{{ messages[loop.index0 - 1].tool_calls[0].function.name }}:{{ m.content }}</r>\
        {% else %}<{{ m.role }}>{% for c in m.tool_calls or [] %}{{ c.function.name }}({{ c.function.arguments | tojson }}){% endfor %}{{ m.content }}<|im_end|>{% endif %}{% endfor %}\
        {% if add_generation_prompt %}<assistant>{% endif %}";
    let messages = r#"[{"role":"user","content":"get"},
        {"role":"assistant","content":"","tool_calls":[{"function":{"name":"get","arguments":{"a":"get"}}}]},
        {"role":"tool","content":{"n":5}},{"role":"assistant","content":"b"}]"#;
    for source in [
        source.to_string(),
        format!(
            "{{% set n = messages | tojson | length %}}{{% if n > 230 %}}!{{% endif %}}{source}"
        ),
    ] {
        let (said, found) = said(&source, messages);
        assert_eq!(said, [r#"get({"a": "get"})<|im_end|>"#, "b<|im_end|>"]);
        assert!(found.unseen.is_empty() && found.text.contains("<r>get:{'n': 5}</r>"), "{found:?}");
    }
}

#[test]
fn days_are_printed_as_strftime_prints_them() {
    let mut template = Template::new("{{ strftime_now('%d %b %Y, %A %j') }}").unwrap();
    template.set_date(Date::parse("2024-12-31").unwrap());
    let text = template.render(&chat(r#"[{"role":"user"}]"#), false).unwrap();
    assert_eq!(text, "31 Dec 2024, Tuesday 366");
    for text in ["2024-02-30", "2023-02-29", "24-02-01", "2024-2-1", "2024-02-01-1", "0000-01-01"] {
        assert_eq!(Date::parse(text), None, "{text}");
    }
}

#[test]
fn templates_can_be_shared() {
    fn assert_shared<T: Send + Sync>() {}
    assert_shared::<Template>();
    assert_shared::<Finder>();
    assert_shared::<Value>();
}

/// Runs a comparison of tests/oracle with an example program.
fn compare(script: &str, program: &str, count: &str) {
    let Some(python) = std::env::var_os("GRISTMILL_PYTHON") else {
        eprintln!("skipped: GRISTMILL_PYTHON is not set");
        return;
    };
    // target/PROFILE/deps/TEST
    let test = std::env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples").join(program);
    if !program.exists() {
        eprintln!("skipped: {} is not built", program.display());
        return;
    }
    let script = format!("{}/../../tests/oracle/{script}", env!("CARGO_MANIFEST_DIR"));
    let done = std::process::Command::new(python).arg(script).arg(program).arg(count).output();
    let done = done.unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{}\n{out}\n{err}", done.status);
}

#[test]
fn texts_are_those_of_transformers() {
    compare("templates.py", "render", "20000");
}

/// Every method with many combinations of arguments, and the cases and classes of every character.
#[test]
fn methods_are_those_of_python() {
    compare("methods.py", "render", "");
}

#[test]
fn mutated_templates_do_as_in_transformers() {
    compare("mutations.py", "render", "4000");
}

/// Each beginning of a chat, rendered with the others and by itself. The templates look at what is a turn's own
/// business otherwise: the prompt, later messages, their number, objects that change.
#[test]
fn beginnings_are_rendered_as_if_nothing_followed() {
    let messages = r#"[{"role":"system","content":"s"},{"role":"user","content":"a"},
        {"role":"assistant","content":"b"},{"role":"tool","content":"c"},{"role":"assistant","content":"d"},
        {"role":"user","content":"stop"},{"role":"assistant","content":"e"},{"role":"user","content":"a"},
        {"role":"assistant","content":"f"}]"#;
    let body = "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}";
    let scan = |test: &str, set: &str| {
        format!(
            "{{% set ns = namespace(on=true, last=messages|length - 1, n=0) %}}\
             {{% for m in messages[::-1] %}}{{% set index = (messages|length - 1) - loop.index0 %}}\
             {{% if {test} %}}{set}{{% endif %}}{{% endfor %}}\
             {{% for m in messages %}}{{{{ m.content }}}}{{{{ '!' if loop.index0 > ns.last }}}}{{{{ ns.n }}}}{{% endfor %}}"
        )
    };
    for source in [
        format!("{{% if add_generation_prompt %}}P{{% endif %}}{body}"),
        "{% for m in messages %}{{ m.content }}{{ '!' if add_generation_prompt }}{% endfor %}".into(),
        "{% for m in messages %}{{ 'L' if add_generation_prompt and loop.last }}{{ m.content }}{% endfor %}".into(),
        "{% macro p() %}{{ add_generation_prompt }}{% endmacro %}{% for m in messages %}{{ p() }}{% endfor %}".into(),
        "{% for m in messages %}{% if not loop.last and messages[loop.index0 + 1].role == 'user' %}u{% endif %}{{ m.content }}{% endfor %}".into(),
        "{% for m in messages[1:] %}{{ loop.nextitem.content if not loop.last }}{{ loop.length if loop.first }}{% endfor %}".into(),
        "{% for m in messages %}{% for n in messages[loop.index0 + 1:] %}{% if n.role == 'assistant' %}{{ n.content }}{% break %}{% endif %}{% endfor %}{% endfor %}".into(),
        "{% set j = joiner(',') %}{% set c = cycler('x', 'y') %}{% for m in messages %}{{ j() }}{{ c.next() }}{% endfor %}{{ j() }}{{ c.current }}".into(),
        "{% set ns = namespace(n=0) %}{% set other = ns %}{% for m in messages %}{% set ns.n = other.n + 1 %}{{ other.n }}{% endfor %}{{ ns.n }}/{{ messages|length }}".into(),
        "{% for m in messages %}{% if m.content == 'stop' %}{% break %}{% endif %}{{ m.content }}{% else %}none{% endfor %}{{ messages[-1].content }}".into(),
        "{% set ns = namespace(last=0) %}{% for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}{{ m.content if loop.index0 >= ns.last }}{% endfor %}".into(),
        "{% for m in messages if m.role != 'tool' %}{{ loop.index }}{{ loop.changed(m.role) }}{{ m.content }}{% endfor %}{{ messages|map(attribute='role')|join }}".into(),
        "{% if messages[0].role == 'system' %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{% for m in rest %}{{ raise_exception('no') if m.content == 'e' and loop.last }}{{ m.content }}{% endfor %}".into(),
        "{% generation %}{{ messages[0].content }}{% endgeneration %}{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}".into(),
        scan("ns.on and m.role == 'user'", "{% set ns.on = false %}{% set ns.last = index %}"),
        scan("m.role == 'user'", "{% set ns.n = ns.n + 1 %}{% set ns.last = index %}"),
        scan("m.role == 'user'", "{% set ns.last = index %}{% break %}"),
        scan("ns.n < 2", "{% set ns.n = ns.n + 1 %}{% set ns.last = loop.index0 %}"),
        scan("m.role == 'user' and ns.last == index + 2", "{% set ns.n = index %}"),
    ] {
        let template = Template::new(&source).unwrap();
        let chat = chat(messages);
        let other = chat.with_end(chat.messages()[5].clone());
        let both = chat.beside(&other).unwrap();
        let counts = (1..=9).map(|count| (count, false)).chain([(9, true)]);
        let wanted: Vec<Prefix> = counts
            .flat_map(|(count, has_other)| [false, true].map(|has_prompt| Prefix { count, has_prompt, has_other }))
            .collect();
        // (All together, and those that a pair of answers needs.)
        for wanted in [&wanted[..], &wanted[15..17], &[wanted[15], wanted[16], wanted[18]], &wanted[16..]] {
            let found = template.render_prefixes(&both, wanted, &[]).unwrap();
            for (number, prefix) in wanted.iter().enumerate() {
                let own = if prefix.has_other { &other } else { &chat.until(prefix.count - 1) };
                let alone = template.render(own, prefix.has_prompt);
                let together = found.text(number).map(|text| text.parts.concat());
                assert_eq!(together, alone, "{prefix:?} of {source}");
            }
        }
    }
}

#[test]
fn beginnings_of_chats_are_rendered_as_each_by_itself() {
    compare("prefixes.py", "render", "4000");
}
