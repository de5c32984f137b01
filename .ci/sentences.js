// Checks the language of comments, of names of tests, and of the prose of Markdown pages: docs/development.md has the
// rules.
// Checks the files it is called with, or all, and then also counts the words that may only decrease.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'vite';

const ROOMS = ['functions', 'client', 'lib', 'bin', 'cli', 'local'];
const GUIDES = readdirSync('docs').flatMap((file) => (file.endsWith('.md') ? join('docs', file) : []));
const ALL = [...[...ROOMS, 'test'].flatMap(filesIn), ...GUIDES, 'README.md', 'CHANGELOG.md', 'client/README.md'];
/** The words of a sentence: comments are short, the sentences of a page may join, and are short on average. */
const MOST = { comment: 25, page: 32, average: 18 };
/** How often the comments of all rooms may use a word. */
const CEILINGS = { 'ones?': 56, none: 1 };

const BAD_START = /^\s*(of|by|so|for|in|with)\b/i;
const BAD_WORD = /;|\b(gives|gave|tells|told|whoever|somebody|nobody|mended)\b/i;
const TEST = /^(it|test|describe)$/;
const DIRECTIVE = /^(\/\s*<|\s*(biome-|@ts-|@jsx|eslint|Stryker ))/;
/** Code and addresses, and in a page the blocks that are not prose: no rule is for them. */
const NO_PROSE = /`[^`]*`|\{@\w+ [^}]*\}|(?<=\])\([^)]*\)|https?:\/\/\S+/g;
const BLOCK =
  /^ *(`{3,})[\s\S]*?^ *\1|<!-- measured -->[\s\S]*?<!-- \/measured -->|<!--[\s\S]*?-->|^ *([|#<!]|\[.*\]:).*$/gm;
const leaveOut = (text) => text.replace(/[^\n]+/g, '#');
/** The space between sentences, paragraphs or items of a list. */
const BREAK = /((?<=[.!?][)"'*_]*)\s+(?=[^a-z\s])|\n\s*(?=\n|[-*]\s|\d+\.\s|@\w))/;

const given = process.argv.slice(2);
const found = given.length > 0 ? given.flatMap(faultsIn) : [...ALL.flatMap(faultsIn), ...countedFaults()];
for (const fault of found) process.stdout.write(`${fault}\n`);
process.exitCode = found.length === 0 ? 0 : 1;

function filesIn(room) {
  const paths = readdirSync(room, { recursive: true }).map((path) => join(room, path));
  return paths.filter((path) => !/\b(node_modules|dist)\b/.test(path) && /\.(ts|tsx|js)$/.test(path));
}

/** Returns the sentences of a Markdown page, or each comment of a program without its marks. */
function textsIn(file) {
  const source = readFileSync(file, 'utf8');
  if (file.endsWith('.md')) return [{ firstLine: 1, text: source.replace(BLOCK, leaveOut) }];
  const texts = [];
  for (const { type, value, start, end } of parseSync(file, source).comments) {
    if (DIRECTIVE.test(value)) continue;
    const text = value.replace(/^\*|^[ \t]*\*(?!\S)/gm, '').replace(/@see.*/g, '');
    const last = texts.at(-1);
    // Line comments below each other are a single text.
    const isContinued = type === 'Line' && last?.type === type && /^\n[ \t]*$/.test(source.slice(last.end, start));
    if (isContinued) Object.assign(last, { text: `${last.text}\n${text}`, end });
    else texts.push({ type, end, text, firstLine: source.slice(0, start).split('\n').length });
  }
  return texts;
}

function faultsIn(file) {
  if (/^test\/|\.test\.ts$/.test(file)) return faultsInNames(file);
  const lines = readFileSync(file, 'utf8').split('\n');
  return textsIn(file).flatMap(({ firstLine, text, type }) => {
    const most = type ? MOST.comment : MOST.page;
    const faults = [];
    const prose = text.replace(NO_PROSE, leaveOut);
    const add = (index, fault) => faults.push(`${file}:${firstLine + index}: ${fault}`);
    if (type && BAD_START.test(prose)) add(0, `begins with "${prose.trim().split(' ', 1)}"`);
    prose.split('\n').forEach((part, index) => {
      const line = lines[firstLine + index - 1];
      if (BAD_WORD.test(part)) add(index, `contains "${BAD_WORD.exec(part)[0]}"`);
      if (line.startsWith('|') && line.split('|').some((cell) => wordsIn(cell).length > 40))
        add(index, 'a cell of more than 40 words');
      if (part !== '#' && line.length > 120 && !line.includes('https://')) add(index, 'more than 120 characters');
    });
    const sentences = prose.split(BREAK).map((sentence) => wordsIn(sentence).length);
    prose.split(BREAK).reduce((index, sentence, n) => {
      if (sentences[n] > most) add(index, `${sentences[n]} words in a sentence`);
      return index + sentence.split('\n').length - 1;
    }, 0);
    const average = wordsIn(prose).length / sentences.filter((words) => words > 0).length;
    if (!type && average > MOST.average) add(0, `${average.toFixed(1)} words in a sentence on average`);
    return faults;
  });
}

/** Finds the forbidden words in the names of tests. */
function faultsInNames(file) {
  const source = readFileSync(file, 'utf8');
  const faults = [];
  new Visitor({
    CallExpression({ callee, arguments: [name] }) {
      // `it`, `it.each` and `it.each([…])` begin with the same word.
      let root = callee;
      while (root !== undefined && root.type !== 'Identifier') root = root.object ?? root.callee ?? root.tag;
      if (root === undefined || !TEST.test(root.name) || !/Literal$/.test(name?.type)) return;
      const [word] = BAD_WORD.exec(source.slice(name.start, name.end)) ?? [];
      const line = source.slice(0, name.start).split('\n').length;
      if (word !== undefined) faults.push(`${file}:${line}: the name of a test contains "${word}"`);
    },
  }).visit(parseSync(file, source).program);
  return faults;
}

function wordsIn(text) {
  return text.match(/\S*[\p{L}\p{N}]\S*/gu) ?? [];
}

function countedFaults() {
  const prose = ROOMS.flatMap(filesIn)
    .flatMap(textsIn)
    .map(({ text }) => text.replace(NO_PROSE, leaveOut));
  const count = (word) => prose.join('\n').match(new RegExp(`\\b${word}\\b`, 'gi'))?.length ?? 0;
  process.stdout.write(`one ${count('ones?')}, none ${count('none')}, returns ${count('returns')}\n`);
  const grown = Object.keys(CEILINGS).filter((word) => count(word) > CEILINGS[word]);
  return grown.map((word) => `"${word}" may occur ${CEILINGS[word]} times in comments`);
}
