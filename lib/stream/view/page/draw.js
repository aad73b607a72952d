// Draws the records of a page. All text of the data is set as textContent: nothing of it is ever
// parsed as markup. See sample.rs for the form of the records.
'use strict';

const byId = (id) => document.getElementById(id);
const directions = ['up', 'down', 'left', 'right'];
const svgNames = 'http://www.w3.org/2000/svg';

let bordersShown = false;
/** What keys do in the record that is shown. */
let keys = {};
let stopFilm = () => {};

function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function makeSvg(name, attributes = {}, ...children) {
  const node = document.createElementNS(svgNames, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const grouped = (number) => number.toLocaleString('en-US');
const short = (value) => (value === null ? '' : String(Number(value.toPrecision(5))));

/** Names with their values. */
function facts(pairs) {
  const list = make('dl', { class: 'facts' });
  for (const [name, value] of pairs) {
    list.append(make('div', {}, make('dt', {}, name), make('dd', {}, value)));
  }
  return list;
}

// Conversations

function drawConversation(record) {
  const box = make('div', { class: bordersShown ? 'borders' : '' });
  const classes = new Map();
  for (const message of record.messages) {
    const text = make('div', { class: 'text', dir: 'auto' });
    for (const piece of message.pieces) {
      text.append(...drawPiece(piece));
      if (piece.class) classes.set(piece.name, piece.class);
    }
    const heading = make('h4', {}, message.title);
    if (message.counts) heading.append(make('span', { class: 'soft' }, ` · ${message.counts}`));
    const section = make('section', { class: 'message' }, heading, text);
    const before = box.lastElementChild;
    if (message.beside && before) {
      const both = make('div', { class: 'beside' });
      before.replaceWith(both);
      both.append(before, section);
    } else {
      box.append(section);
    }
  }
  if (record.left) box.append(make('p', { class: 'cut' }, record.left));
  const legend = make('p', { class: 'legend' });
  for (const [name, kind] of classes) legend.append(make('span', { class: kind }, name));
  if (record.messages.some((message) => message.pieces.some((piece) => piece.mark))) {
    legend.append(make('span', { class: 'soft' }, '▸ ◂ the mask before a message, and at its end'));
  }
  if (record.messages.some((message) => message.pieces.some((piece) => piece.ids))) {
    const button = make('button', { type: 'button', 'aria-pressed': String(bordersShown) },
      'Token borders (t)');
    button.id = 'borders';
    keys.t = () => {
      bordersShown = !bordersShown;
      button.setAttribute('aria-pressed', String(bordersShown));
      box.classList.toggle('borders', bordersShown);
    };
    button.addEventListener('click', () => keys.t());
    legend.append(button);
    box.addEventListener('pointerover', (event) => tellToken(event.target));
    box.addEventListener('click', (event) => tellToken(event.target));
  }
  box.prepend(legend);
  return box;
}

function drawPiece(piece) {
  const kinds = ['piece', `k-${piece.kind}`, piece.class ?? ''];
  if (piece.wrong) kinds.push('wrong');
  const says = piece.wrong ? `${piece.name}, should be ${piece.wrong}` : piece.name;
  const span = make('span', { class: kinds.join(' ').trim() });
  if (says) span.title = says;
  if (piece.ids) {
    let start = 0;
    piece.ids.forEach((id, number) => {
      const end = start + piece.lengths[number];
      const token = make('span', { class: 'token' }, piece.text.slice(start, end));
      token.title = `token ${grouped(piece.first + number)}: id ${id}${says ? ', ' + says : ''}`;
      span.append(token);
      start = end;
    });
    span.append(piece.text.slice(start));
  } else {
    span.append(piece.text);
  }
  const nodes = [span];
  if (piece.left) nodes.push(make('span', { class: 'cut' }, ` [… ${piece.left}]`));
  if (piece.mark) {
    const kind = piece.mark.wrong ? 'mark bad wrong' : 'mark soft';
    nodes.push(make('span', { class: kind, title: piece.mark.says }, piece.mark.text));
  }
  return nodes;
}

function tellToken(target) {
  if (!target.classList.contains('token')) return;
  for (const other of document.querySelectorAll('.token.on')) other.classList.remove('on');
  target.classList.add('on');
  byId('status').textContent = target.title;
}

// Games

function drawGame(record) {
  const count = record.indices.length;
  const box = make('div');
  if (record.left) box.append(make('p', { class: 'cut' }, record.left));
  if (count === 0) return box;
  const slider = make('input', {
    type: 'range', id: 'step', min: 0, max: count - 1, value: 0, 'aria-label': 'Step of the game',
  });
  const drawn = make('div', { class: 'game' });
  const show = (step) => {
    slider.value = Math.max(0, Math.min(count - 1, step));
    slider.setAttribute('aria-valuetext', `step ${grouped(record.indices[slider.value])}`);
    drawn.replaceChildren(...drawStep(record, Number(slider.value)));
  };
  const button = (label, text, act) => {
    const node = make('button', { type: 'button', 'aria-label': label, title: label }, text);
    node.addEventListener('click', act);
    return node;
  };
  let timer = null;
  const play = button('Play (p)', '▶', () => keys.p());
  stopFilm = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = '▶';
  };
  keys[','] = () => show(Number(slider.value) - 1);
  keys['.'] = () => show(Number(slider.value) + 1);
  keys.p = () => {
    if (timer) return stopFilm();
    play.textContent = '⏸';
    timer = setInterval(() => {
      if (Number(slider.value) === count - 1) return stopFilm();
      show(Number(slider.value) + 1);
    }, 150);
  };
  slider.addEventListener('input', () => show(Number(slider.value)));
  box.append(
    make('div', { class: 'tools' }, button('One step back (,)', '−', () => keys[',']()), slider,
      button('One step on (.)', '+', () => keys['.']()), play),
    drawn);
  show(0);
  return box;
}

function drawStep(record, step) {
  const tiles = [...record.boards.slice(16 * step, 16 * (step + 1))].map(drawTile);
  const says = tiles.map((tile, at) => (at % 4 ? ' ' : at ? '; ' : '') + (tile.textContent || 'empty'));
  const board = make('div', { class: 'board', role: 'img', 'aria-label': `Board: ${says.join('')}` }, ...tiles);
  const pairs = [['step', grouped(record.indices[step])]];
  const add = (name, value) => value !== null && value !== undefined && pairs.push([name, value]);
  add('move', directions[record.moves[step]]);
  add('valuation', record.valuations[record.names[step]]);
  add('value', record.values[step] === null ? null : short(record.values[step]));
  add('score', record.scores[step] === null ? null : grouped(record.scores[step]));
  add('board eval', record.evals[step] === null ? null : grouped(record.evals[step]));
  return [board, make('div', {}, facts(pairs), ...drawBranches(record, step), scaleOf(record, step))];
}

/** The relative luminance of a colour, as WCAG has it. */
function luminance(hue, saturation, lightness) {
  const range = saturation * Math.min(lightness, 1 - lightness);
  const channel = (place) => {
    const turn = (place + hue / 30) % 12;
    const value = lightness - range * Math.max(-1, Math.min(turn - 3, 9 - turn, 1));
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(0) + 0.7152 * channel(8) + 0.0722 * channel(4);
}

function drawTile(symbol) {
  const cell = make('div', { class: 'tile' });
  const exponent = parseInt(symbol, 36);
  if (exponent === 0) return cell;
  cell.textContent = Number.isNaN(exponent) ? '?' : String(2 ** exponent);
  const light = Math.max(25, 92 - 5 * (exponent || 0));
  cell.style.background = `hsl(38 85% ${light}%)`;
  // Whichever has the greater contrast, which is 4.5 or more on any colour.
  cell.style.color = luminance(38, 0.85, light / 100) > 0.179 ? '#000000' : '#ffffff';
  if (exponent > 13) cell.style.fontSize = '.85rem';
  return cell;
}

/** The values of a step's moves, which of them are legal, and the least and greatest of these. */
function branchesOf(record, step) {
  const values = record.branches.slice(4 * step, 4 * step + 4);
  const legal = parseInt(record.legal[step], 16);
  const isLegal = (direction) => ((legal >> direction) & 1) === 1;
  const known = values.filter((value, direction) => value !== null && isLegal(direction));
  return { values, isLegal, least: Math.min(...known), greatest: Math.max(...known), known: known.length };
}

/** Where the bars begin and end. */
function scaleOf(record, step) {
  const { least, greatest, known } = branchesOf(record, step);
  if (known === 0) return '';
  const says = least === greatest ? `All bars: ${short(least)}.`
    : `Bars begin at ${short(least)}, the least legal value, and end at ${short(greatest)}.`;
  return make('p', { class: 'scale' }, says);
}

function drawBranches(record, step) {
  const { values, isLegal, least, greatest } = branchesOf(record, step);
  const range = greatest - least;
  return directions.map((name, direction) => {
    const value = values[direction];
    const kinds = ['branch'];
    if (String(direction) === record.moves[step]) kinds.push('chosen');
    if (!isLegal(direction)) kinds.push('illegal');
    // The least of the legal ones is seen too, as a line.
    const share = value === null || !isLegal(direction) ? 0 : range > 0 ? Math.max(1, 100 * (value - least) / range) : 100;
    const bar = makeSvg('svg', { 'aria-hidden': 'true' },
      makeSvg('rect', { width: `${share}%`, height: '100%' }));
    const mark = kinds.includes('chosen') ? '▶ ' : '';
    const number = isLegal(direction) ? short(value) || 'no value' : 'illegal';
    return make('div', { class: kinds.join(' ') }, make('span', {}, mark + name), bar,
      make('span', { class: 'number' }, number));
  });
}

// Puzzles

function drawPuzzle(record) {
  const sides = make('div', { class: 'sides' });
  for (const side of record.sides) {
    const drawn = side.lines ? drawLines(side) : drawGrid(side);
    const notes = [side.note, side.left].filter(Boolean);
    sides.append(make('figure', { class: 'card' }, make('figcaption', {}, side.name), drawn,
      ...notes.map((note) => make('p', { class: 'soft' }, note))));
  }
  return sides;
}

function drawCell(cells, number) {
  const kind = cells.kinds[cells.kind[number]];
  const colour = cells.colours[number];
  const span = make('span', { class: colour === '.' ? `q-${kind}` : `q-${kind} a-${colour}`, title: kind });
  span.textContent = cells.symbols[number];
  return span;
}

function drawGrid(side) {
  const { columns, cells, boxes } = side;
  const rows = Math.ceil(cells.symbols.length / columns);
  const says = `${side.name}, ${rows} rows of ${columns}: ${Array.from(cells.symbols).join(' ')}`;
  const grid = make('div', { class: 'grid', role: 'img', 'aria-label': says });
  grid.style.gridTemplateColumns = `repeat(${columns}, 1fr)`;
  grid.style.maxWidth = `${Math.min(34, 3 * columns)}rem`;
  // The longest number fits its cell.
  const share = Math.min(1, 1.5 / Math.max(...Array.from(cells.symbols, (symbol) => symbol.length)));
  grid.style.setProperty('--size', `min(${Math.min(60, 90 / columns) * share}vw, ${3 * share}rem)`);
  for (let number = 0; number < cells.symbols.length; number++) {
    const cell = drawCell(cells, number);
    const [row, column] = [Math.floor(number / columns), number % columns];
    if (boxes && column % boxes === boxes - 1 && column < columns - 1) cell.classList.add('box-right');
    if (boxes && row % boxes === boxes - 1 && row < rows - 1) cell.classList.add('box-below');
    grid.append(cell);
  }
  return grid;
}

function drawLines(side) {
  const box = make('div');
  for (const line of side.lines) {
    const pieces = make('div', { class: 'pieces' });
    for (let number = 0; number < line.cells.symbols.length; number++) {
      pieces.append(drawCell(line.cells, number));
    }
    box.append(make('div', { class: 'soft' }, line.name), pieces);
  }
  return box;
}

// Records of other types

function drawFields(record) {
  const table = make('table', { class: 'told' });
  for (const { name, text, left } of record.fields) {
    const cell = make('td', {}, text ?? 'null');
    if (left) cell.append(make('span', { class: 'cut' }, ` [… ${left}]`));
    table.append(make('tr', {}, make('th', { scope: 'row' }, name), cell));
  }
  return table;
}

const draw = {
  conversation: drawConversation, game: drawGame, puzzle: drawPuzzle, fields: drawFields,
};
