import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

const PAGE = 'docs/security.md';
const text = readFileSync(PAGE, 'utf8');
const table = text.slice(text.indexOf('## The promises'), text.indexOf('## How it holds'));
const promises = table
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(2)
  .map((line) => line.split(' | '));

it('there are promises', () => {
  expect(promises.length).toBeGreaterThan(12);
});

it.each(promises)('%s has a suite that proves it', (promise, proofs = '') => {
  expect(promise).not.toBe('');
  const suites = linksIn(proofs);
  expect(suites).not.toEqual([]);
  expect(suites.filter((suite) => !suite.endsWith('.test.ts') || !existsSync(suite))).toEqual([]);
});

it('every attack has its promise', () => {
  const attacks = readdirSync('test/attacks').filter((file) => file.endsWith('.test.ts'));
  expect(attacks.filter((file) => !linksIn(table).includes(`test/attacks/${file}`))).toEqual([]);
});

function linksIn(markdown: string): readonly string[] {
  return [...markdown.matchAll(/\]\(([^)#]+)/g)].map(([, link = '']) => normalize(join(dirname(PAGE), link)));
}
