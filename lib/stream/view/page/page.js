// Steps through the sample of a dataset's page, and searches in it. draw.js comes before.

const records = JSON.parse(byId('data').textContent);

/** The numbers of the records that match the search, and the place among them. */
let matches = records.map((_, number) => number);
let place = 0;

function show(number) {
  stopFilm();
  keys = {};
  place = Math.max(0, Math.min(matches.length - 1, number));
  byId('previous').disabled = place <= 0;
  byId('next').disabled = place >= matches.length - 1;
  const box = byId('record');
  if (matches.length === 0) {
    box.replaceChildren();
    byId('status').textContent = `None of these ${here()} has “${byId('search').value}”.`;
    return;
  }
  const record = records[matches[place]];
  byId('which').value = String(matches[place]);
  byId('status').textContent = `${grouped(place + 1)} of ${grouped(matches.length)}`;
  const notes = record.notes.map((note) => make('p', { class: 'bad' }, note));
  box.replaceChildren(make('h3', {}, record.title), facts(record.facts), ...notes,
    draw[record.kind](record));
  mark();
}

/** How far the search looks. */
function here() {
  const all = byId('record').dataset.all;
  const own = grouped(records.length);
  return own === all ? `${own} records` : `${own} records (of ${all}; ds-cat searches all)`;
}

/** Everything in a record that the search looks at. */
function textOf(record) {
  const parts = [record.title, ...record.facts.flat(), ...record.notes];
  for (const message of record.messages ?? []) {
    parts.push(message.title, message.pieces.map((piece) => piece.text).join(''));
  }
  for (const { name, text } of record.fields ?? []) parts.push(name, text ?? '');
  for (const side of record.sides ?? []) {
    for (const { cells } of side.lines ?? [side]) parts.push(Array.from(cells.symbols).join(''));
  }
  return parts.join('\n').toLowerCase();
}

const wanted = () => byId('search').value.toLowerCase();

function search() {
  const text = wanted();
  const current = matches[place] ?? 0;
  matches = [];
  records.forEach((record, number) => {
    record.text ??= textOf(record);
    if (record.text.includes(text)) matches.push(number);
  });
  for (const option of byId('which').options) option.hidden = !matches.includes(Number(option.value));
  show(Math.max(0, matches.findIndex((number) => number >= current)));
  if (text && matches.length) byId('status').textContent += ` with “${byId('search').value}”, of these ${here()}`;
}

/** Marks what was searched for, across the borders of tokens and pieces. */
function mark() {
  if (!window.CSS?.highlights) return;
  CSS.highlights.delete('hit');
  const text = wanted();
  if (!text) return;
  const nodes = [];
  const walker = document.createTreeWalker(byId('record'), NodeFilter.SHOW_TEXT);
  let all = '';
  while (walker.nextNode()) {
    nodes.push([all.length, walker.currentNode]);
    all += walker.currentNode.data;
  }
  // Where a text changes its length with its case, places in it are not known.
  const folded = all.toLowerCase();
  if (folded.length !== all.length) return;
  const at = (offset, isEnd) => {
    const after = nodes.findIndex(([start]) => (isEnd ? start >= offset : start > offset));
    const [start, node] = nodes.at(after < 0 ? -1 : after - 1);
    return [node, offset - start];
  };
  const hits = new Highlight();
  for (let from = folded.indexOf(text); from >= 0 && hits.size < 500; from = folded.indexOf(text, from + text.length)) {
    const range = new Range();
    range.setStart(...at(from, false));
    range.setEnd(...at(from + text.length, true));
    hits.add(range);
  }
  CSS.highlights.set('hit', hits);
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const { target, key } = event;
  if (target.id === 'search') {
    if (key === 'Enter') show(place + 1 < matches.length ? place + 1 : 0);
    if (key === 'Escape') target.blur();
    return;
  }
  const isField = target.matches('input, select');
  const act = {
    ArrowLeft: () => show(place - 1), ArrowRight: () => show(place + 1),
    Home: () => show(0), End: () => show(matches.length - 1),
  }[key];
  if (act && !isField) {
    event.preventDefault();
    act();
  } else if (key === '/') {
    event.preventDefault();
    byId('search').focus();
  } else if (keys[key] && target.tagName !== 'SELECT') {
    keys[key]();
  }
}

if (records.length) {
  records.forEach((record, number) => {
    byId('which').append(make('option', { value: number }, record.title));
  });
  byId('previous').addEventListener('click', () => show(place - 1));
  byId('next').addEventListener('click', () => show(place + 1));
  byId('which').addEventListener('change', (event) => show(matches.indexOf(Number(event.target.value))));
  byId('search').addEventListener('input', search);
  document.addEventListener('keydown', onKey);
  show(0);
}
