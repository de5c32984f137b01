import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startLocalBroker } from '../../support/local-broker.ts';
import { blocks, commands, layout } from '../../support/readme.ts';

const ROOT = new URL('../../../', import.meta.url);
const PAGES = ['development', 'performance'].map((name) => [name, readPage(name)] as const);
const DEVELOPMENT = readPage('development');

it.each(PAGES)('docs/%s.md links only to files that exist', (_, page) => {
  for (const [, link = ''] of page.matchAll(/\]\(([^)#]+)/g)) {
    expect(existsSync(new URL(link, new URL('docs/', ROOT))), link).toBe(true);
  }
});

it.each(PAGES)('docs/%s.md names only scripts that exist', (_, page) => {
  const { scripts }: { readonly scripts: object } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'));
  const named = commands(page).flatMap((command) => /^npm run (?:--silent )?([\w:-]+)/.exec(command)?.[1] ?? []);
  expect(named).not.toEqual([]);
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
});

it('docs/development.md lays out every folder, and nothing that is not there', () => {
  const paths = layout(DEVELOPMENT);
  const built = ['node_modules', 'cdk.out', 'coverage'];
  const folders = readdirSync(ROOT, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !built.includes(entry.name))
    .map(({ name }) => `${name}/`);

  for (const path of paths) expect(existsSync(new URL(path, ROOT)), path).toBe(true);
  expect(paths).toEqual(expect.arrayContaining(folders));
});

it('docs/development.md shows a configuration that a local broker starts with', async () => {
  const [config = ''] = blocks('json', DEVELOPMENT);
  const broker = await startLocalBroker({ config });
  expect(await broker.end()).toMatchObject({ exitCode: 0, stderr: '' });
});

function readPage(name: string): string {
  return readFileSync(fileURLToPath(new URL(`docs/${name}.md`, ROOT)), 'utf8');
}
