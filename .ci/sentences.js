// Checks the language of comments, and of the prose of some Markdown pages: docs/development.md has the rules.
// Checks the files it is called with, or all, and then also counts the words that may only decrease.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';

const ROOMS = ['functions', 'client', 'lib', 'bin', 'cli', 'local'];
/** The rooms and pages whose sentences are rewritten. */
const PAGES = readdirSync('docs').filter((file) => file.endsWith('.md') && file !== 'callers.md');
const DONE = [...ROOMS.flatMap(filesIn), ...PAGES.map((file) => join('docs', file))];
/** How often the comments of all rooms may use a word. */
const CEILINGS = { 'ones?': 56, none: 1 };

const BAD_START = /^\s*(of|by|so|for|in|with)\b/i;
const BAD_WORD = /;|\b(gives|gave|tells|told|whoever|somebody|nobody|mended)\b/i;
const DIRECTIVE = /^(\/\s*<|\s*(biome-|@ts-|@jsx|eslint|Stryker ))/;
/** Code and addresses, and in a page the blocks that are not prose: no rule is for them. */
const NO_PROSE = /`[^`]*`|\{@\w+ [^}]*\}|(?<=\])\([^)]*\)|https?:\/\/\S+/g;
const BLOCK =
  /^ *(`{3,})[\s\S]*?^ *\1|<!-- measured -->[\s\S]*?<!-- \/measured -->|<!--[\s\S]*?-->|^ *([|#<]|\[.*\]:).*$/gm;
const leaveOut = (text) => text.replace(/[^\n]+/g, '#');
/** The space between sentences, paragraphs or items of a list. */
const BREAK = /((?<=[.!?][)"'*_]*)\s+(?=[^a-z\s])|\n\s*(?=\n|[-*]\s|\d+\.\s|@\w))/;

const given = process.argv.slice(2);
const found = given.length > 0 ? given.flatMap(faultsIn) : [...DONE.flatMap(faultsIn), ...countedFaults()];
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
  const lines = readFileSync(file, 'utf8').split('\n');
  return textsIn(file).flatMap(({ firstLine, text, type }) => {
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
    prose.split(BREAK).reduce((index, sentence) => {
      const words = wordsIn(sentence).length;
      if (words > 25) add(index, `${words} words in a sentence`);
      return index + sentence.split('\n').length - 1;
    }, 0);
    return faults;
  });
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
