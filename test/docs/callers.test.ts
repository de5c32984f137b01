import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openapiDocument } from '../../bin/openapi/document.ts';
import { commands, table } from '../support/readme.ts';

const FOLDER = new URL('../../docs/', import.meta.url);
const PAGE = readFileSync(new URL('callers.md', FOLDER), 'utf8');

/** What test/docs/examples.test.ts runs. */
const EXAMPLES = readdirSync(new URL('examples', FOLDER)).filter((file) => file !== 'with-client.ts');

it('docs/callers.md shows how to run every example but that of the client', () => {
  expect(
    commands(PAGE)
      .filter((command) => command.includes('docs/examples/'))
      .map((command) => command.replace(/^\S+ docs\/examples\//, ''))
      .toSorted(),
  ).toEqual(EXAMPLES.map((file) => `${file} acme customer-insights`));
});

it.each([...PAGE.matchAll(/\]\(([^)#]+)/g)].map(([, link = '']) => link))('docs/callers.md links to %s', (link) => {
  expect(existsSync(new URL(link, FOLDER))).toBe(true);
});

it('docs/callers.md explains every answer of AWS that the contract shows, each in one row', () => {
  const { responses }: ReturnType<typeof JSON.parse> = openapiDocument().paths['/token'].post;
  const shown = [403, 413, 429].flatMap((status) =>
    Object.values<ReturnType<typeof JSON.parse>>(responses[status].content['application/json'].examples).map(
      ({ value }): [number, string] => [status, value.message ?? value.Message],
    ),
  );
  const rows = table('status', PAGE).filter(([status]) => status !== '5xx');
  const rowsOf = ([status, text]: [number, string]) =>
    rows.filter(([of, says = '']) => of === `${status}` && says.split('`, `').some((words) => text.includes(words)));

  expect(shown.map(rowsOf)).toEqual(shown.map(() => [expect.any(Array)]));
  expect(new Set(shown.flatMap(rowsOf))).toEqual(new Set(rows));
});
