import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { exampleConfig } from '../bin/local/config.ts';
import { PROBLEM_GUIDE } from '../bin/openapi/problem-guide.ts';
import { PROBLEMS } from '../functions/contract.ts';
import { parseEnvironment } from '../lib/settings.ts';
import { exampleForm } from './lib/example-form.ts';
import { blocks, commands, layout, README, table } from './support/readme.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

describe('README.md', () => {
  it('says of every problem what the contract says of it', () => {
    const said = Object.fromEntries(table('type').map(([type = '', , means, advice]) => [type, { means, advice }]));
    for (const [type, { advice }] of Object.entries(PROBLEMS)) expect(said[type]?.advice, type).toBe(advice);
    for (const [type, { means }] of Object.entries(PROBLEM_GUIDE)) expect(said[type]?.means, type).toBe(means);
  });

  it('has the two commands at its top', () => {
    expect(commands().slice(0, 2)).toEqual(['npm ci && npm start', 'npm ci && npm test']);
    expect(README.indexOf('```sh')).toBeLessThan(400);
  });

  it('has every problem in its table, with its status, its meaning and what to do', () => {
    const rows = table('type');

    expect(rows.map(([type, status]) => [type, status])).toEqual(
      Object.entries(PROBLEMS).map(([type, { status }]) => [type, `${status}`]),
    );
    for (const [type, , ...sentences] of rows)
      expect(sentences, type).toEqual([expect.any(String), expect.any(String)]);
  });

  it('names the local callers with their keys', () => {
    expect(table('role').map((cells) => cells.slice(0, 3))).toEqual(
      exampleConfig(String).callers.map(({ role, accessKeyId, secretAccessKey }) => [
        role.replace(/.*\//, ''),
        accessKeyId,
        secretAccessKey,
      ]),
    );
  });

  it('shows settings that are right', () => {
    const members = blocks('ts').join('');
    const settings = JSON.parse(JSON.stringify(runInNewContext(`({ ${members} })`)));

    expect(Object.keys(settings)).toEqual(['accessRules', 'services']);
    expect(() => parseEnvironment('dev', { ...exampleForm(), ...settings })).not.toThrow();
  });

  it('lets a caller do what the stack lets its account do, and names the function and its alias', async () => {
    const policy = blocks('json').find((text) => text.includes('"Statement"'));
    const statements: { Action: string; Resource: string }[] = JSON.parse(policy ?? '').Statement;
    const template = await readFile(join(root, 'test/lib/__snapshots__/TokenBroker-dev.template.json'), 'utf8');
    const { Resources }: Template = JSON.parse(template);
    const ofAccounts = Object.values(Resources)
      .map(({ Properties }) => Properties)
      .filter(({ Principal }) => typeof Principal === 'string' && /^\d{12}$/.test(Principal));

    expect(new Set(statements.map(({ Action }) => Action))).toEqual(new Set(ofAccounts.map(({ Action }) => Action)));
    for (const { Resource } of statements) {
      const [functionName, alias] = Resource.split(':').slice(-2);
      expect(template).toContain(`"FunctionName": "${functionName}"`);
      expect(template).toContain(`"Qualifier": "${alias}"`);
    }
  });

  it.each(layout())('lays out what there is: %s', (path) => {
    expect(existsSync(join(root, path))).toBe(true);
  });

  it('lays out every folder', () => {
    const built = ['node_modules', 'cdk.out', 'coverage'];
    const folders = readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !built.includes(entry.name))
      .map(({ name }) => `${name}/`);

    expect(layout()).toEqual(expect.arrayContaining(folders));
  });

  it('names only scripts that there are', async () => {
    const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
    const named = [...README.matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, script = '']) => script);

    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
  });

  it.each([...README.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link))('links to what there is: %s', (link) => {
    expect(existsSync(join(root, link))).toBe(true);
  });
});

/** As far as it is read: permissions have both members, other resources perhaps none. */
interface Template {
  readonly Resources: Readonly<
    Record<string, { readonly Properties: { readonly Action?: string; readonly Principal?: unknown } }>
  >;
}
