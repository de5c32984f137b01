import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { PROBLEM_ADVICE, PROBLEMS, type ProblemType } from '../../../functions/contract.ts';
import { readContract, responseOf } from '../../support/openapi.ts';
import { commands, table } from '../../support/readme.ts';

const FOLDER = new URL('../../../docs/', import.meta.url);
const PAGE = readFileSync(new URL('callers.md', FOLDER), 'utf8');

/** What test/e2e/docs/examples.test.ts runs. */
const EXAMPLES = readdirSync(new URL('examples', FOLDER)).filter((file) => file !== 'with-client.ts');

it('docs/callers.md shows how to run every example but that of the client', () => {
  expect(
    commands(PAGE)
      .filter((command) => command.includes('docs/examples/'))
      .map((command) => command.replace(/^\S+ docs\/examples\//, ''))
      .toSorted(),
  ).toEqual(EXAMPLES.map((file) => `${file} acme customer-insights`));
});

it('docs/callers.md says of every problem what the contract says of it', () => {
  const types = Object.keys(PROBLEMS) as readonly ProblemType[];
  expect(table('type', PAGE)).toEqual(
    types.map((type) => [type, `${PROBLEMS[type].status}`, PROBLEMS[type].title, PROBLEM_ADVICE[type]]),
  );
});

it('docs/callers.md explains every answer of AWS that the contract shows, each in one row', () => {
  const contract = readContract();
  const shown = [403, 413, 429].flatMap((status) =>
    Object.values(responseOf(contract, '/token', status)?.response.content?.['application/json']?.examples ?? {}).map(
      ({ value }): [number, string] => [status, messageOf(value)],
    ),
  );
  const rows = table('status', PAGE).filter(([status]) => status !== '5xx');
  const rowsOf = ([status, text]: [number, string]) =>
    rows.filter(([of, says = '']) => of === `${status}` && says.split('`, `').some((words) => text.includes(words)));

  expect(shown.length).toBeGreaterThan(5);
  expect(shown.map(rowsOf)).toEqual(shown.map(() => [expect.any(Array)]));
  expect(new Set(shown.flatMap(rowsOf))).toEqual(new Set(rows));
});

function messageOf(value: unknown): string {
  const { message, Message }: { readonly message?: string; readonly Message?: string } = Object(value);
  return message ?? Message ?? '';
}
