import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { startLocalBroker } from '../../support/local-broker.ts';
import { blocks, layout } from '../../support/readme.ts';

const ROOT = new URL('../../../', import.meta.url);
const DEVELOPMENT = readPage('docs/development.md');
const PAGES = [
  'README.md',
  ...readdirSync(new URL('docs', ROOT))
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

it.each(PAGES)('%s links only to files that exist', (name) => {
  for (const [, link = ''] of readPage(name).matchAll(/\]\(([^)#]+)/g)) {
    if (!link.startsWith('https:')) expect(existsSync(new URL(link, new URL(name, ROOT))), link).toBe(true);
  }
});

it.each(PAGES)('%s names only scripts that exist', (name) => {
  const { scripts }: { readonly scripts: object } = JSON.parse(readPage('package.json'));
  const named = [...readPage(name).matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, script = '']) => script);
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
  return readFileSync(new URL(name, ROOT), 'utf8');
}
