import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { runRedocly } from '../../bin/openapi/redocly.ts';
import { openapiYaml } from '../../bin/openapi/yaml.ts';
import { PROBLEMS } from '../../functions/contract.ts';

const PAGE = fileURLToPath(new URL('../../docs/openapi.yaml', import.meta.url));
const FROZEN = fileURLToPath(new URL('../docs/openapi.frozen.yaml', import.meta.url));

const ACCEPT = `The HTTP contract is not the one that was accepted last. If that is intended, set CONTRACT_VERSION in
bin/openapi/document.ts to at least what the changes below require, and accept them: npm run openapi -- --freeze`;

type Document = ReturnType<typeof JSON.parse>;

const document: Document = parse(openapiYaml());

describe('docs/openapi.yaml', () => {
  it('is what `npm run openapi` writes', async () => {
    expect(await readFile(PAGE, 'utf8')).toBe(openapiYaml());
  });

  it('has no fault that Redocly knows, in its examples neither', async () => {
    const { isOk, output } = await runRedocly('lint', PAGE);
    expect(isOk, output).toBe(true);
  });

  it('names every problem under its status, with an example of it', () => {
    const { responses }: Document = document.paths['/token'].post;
    const described = Object.entries<Document>(responses).flatMap(([status, { content }]) =>
      Object.values<Document>(content['application/problem+json']?.examples ?? {}).map(({ value }) => [status, value]),
    );

    expect(described).toHaveLength(Object.keys(PROBLEMS).length);
    for (const [type, { status, title, retryable }] of Object.entries(PROBLEMS)) {
      expect(described).toContainEqual([`${status}`, expect.objectContaining({ type, status, title, retryable })]);
    }
  });
});

describe('the contract', async () => {
  const frozen = withoutWords(parse(await readFile(FROZEN, 'utf8')));

  it('is the one that was accepted last', async () => {
    const isAccepted = JSON.stringify(withoutWords(document)) === JSON.stringify(frozen);
    expect(isAccepted, isAccepted ? '' : `${ACCEPT}\n\n${await changes()}`).toBe(true);
  });

  it.each<[string, (changed: Document) => void]>([
    ['an answer loses a member', ({ components }) => delete components.schemas.Check.properties.version],
    ['the title of problems goes', ({ components }) => delete components.schemas.Problem.properties.title],
    ['a member may be missing', ({ components }) => components.schemas.Token.required.pop()],
    ['more is accepted', ({ components }) => delete components.schemas.TokenRequest.additionalProperties],
    ['a problem is added', ({ components }) => components.schemas.Problem.properties.type.enum.push('new')],
    ['a header is lost', ({ paths }) => delete paths['/token'].post.responses['503'].headers['Retry-After']],
    ['nobody has to sign', (changed) => delete changed.security],
  ])('would be another one if %s', (_, change) => {
    const changed = structuredClone(document);
    change(changed);
    expect(withoutWords(changed)).not.toEqual(frozen);
  });

  it('would be the same in other words', () => {
    const changed = structuredClone(document);
    changed.info.description = 'Other words.';
    changed.components.schemas.Problem.properties.title.description = 'Other words.';
    expect(withoutWords(changed)).toEqual(frozen);
  });
});

/** What has changed since, and how much it is. */
async function changes(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'openapi.yaml');
  await writeFile(file, openapiYaml());
  const { output } = await runRedocly('diff', FROZEN, file, '--fail-on', 'none');
  return output;
}

/** What programs rely on: no prose and no examples. A member of a body may be called `title` nonetheless. */
function withoutWords(value: unknown, areMembers = false): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutWords(one));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => areMembers || !WORDS.has(name));
  return Object.fromEntries(kept.map(([name, one]) => [name, withoutWords(one, name === 'properties')]));
}

const WORDS: ReadonlySet<string> = new Set(['description', 'summary', 'title', 'example', 'examples']);
