import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseCredential } from '../../../functions/broker/credential/credential.ts';
import { Redacted } from '../../../functions/broker/redacted.ts';
import { buildTokenRequest } from '../../../functions/broker/token-request/token-request.ts';
import { exampleService, START } from '../../support/example.ts';
import { read } from './token-response/token-answers.ts';

const PAGE = readFileSync(new URL('../../../docs/token-endpoints.md', import.meta.url), 'utf8');

/** The rows of a table, each cell as the texts in its back quotes, or as its words without them. */
function rowsOf(section: string): readonly (readonly (readonly string[])[])[] {
  const [, text = ''] = PAGE.split(`\n## ${section}\n`);
  const rows = (text.split('\n## ')[0] ?? '').split('\n').filter((line) => /^\| (`|\{)/.test(line));
  return rows.map((row) =>
    row
      .split(/ ?(?<!\\)\| ?/)
      .slice(1, -1)
      .map((cell) =>
        cell.startsWith('`') && !cell.includes(' s,') ? (cell.match(/(?<=`)[^`]+(?=`(?: `|$))/g) ?? []) : [cell],
      ),
  );
}

it.each(rowsOf('What it reads').map((row) => [row] as const))(
  'reads an answer as the page says: %j',
  ([answer, settings, said]) => {
    const parts = answer ?? [];
    const status = Number(parts.find((part) => /^\d{3}$/.test(part)) ?? 200);
    const type = parts.find((part) => /^[a-z]+\/\S/.test(part)) ?? 'application/json';
    const headers = parts.flatMap(
      (part) => (/^([a-z-]+): (.*)$/.exec(part)?.slice(1, 3) as [string, string] | undefined) ?? [],
    );
    const pairs = headers.flatMap((_, index) => (index % 2 === 0 ? [headers.slice(index, index + 2)] : []));
    const text = parts.find((part) => !/^(?:\d{3}$|[a-z]+\/\S|[a-z-]+: )/.test(part)) ?? '';
    const body = type.includes('8859') ? Buffer.from(text, 'latin1') : text;
    const reading = read({
      status,
      type,
      headers: Object.fromEntries(pairs),
      body,
      settings: JSON.parse(settings?.[0] || '{}'),
    });
    const told = () => {
      if (reading.outcome === 'rejected') return 'rejected';
      if (reading.outcome === 'token') {
        const { accessToken, expiresAt, expirySource } = reading.token;
        const warnings = reading.warnings.map((warning) => `, \`${warning}\``).join('');
        return `\`${accessToken.reveal()}\`, ${(expiresAt - START) / 1_000} s, ${expirySource}${warnings}`;
      }
      const { type: problem, retryAfterSeconds } = reading.problem;
      return `${reading.outcome}: ${problem}${retryAfterSeconds ? `, after ${retryAfterSeconds} s` : ''}`;
    };
    expect(told()).toBe(said?.[0]);
  },
);

it.each(rowsOf('What it asks').map((row) => [row] as const))(
  'asks as the page says: %j',
  ([settings, target, body, header]) => {
    const service = exampleService(JSON.parse(settings?.[0] ?? '{}'));
    const text = new Redacted('{"client_id":"acme-id","secret":"acme-secret","X-Api-Key":"acme-key"}');
    const credential = parseCredential(text, 'customer-insights', { ...service, isOnlyService: true });
    const request = buildTokenRequest(service, credential);
    expect([request.url.pathname + request.url.search, request.body]).toEqual([target?.[0], body?.[0] ?? '']);
    const headers = Object.entries(request.headers).map(([name, value]) => {
      return `${name}: ${value instanceof Redacted ? value.reveal() : value}`;
    });
    expect(headers).toEqual(expect.arrayContaining(header?.filter((one) => one !== '') ?? []));
  },
);

it('has rows for both', () => {
  expect(rowsOf('What it reads').length).toBeGreaterThan(20);
  expect(rowsOf('What it asks').length).toBeGreaterThan(6);
});
