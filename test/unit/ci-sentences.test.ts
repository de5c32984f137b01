import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

const words = (count: number) => Array(count).fill('word').join(' ');

it.each<readonly [what: string, name: string, text: string, faults: readonly string[]]>([
  [
    'in comments',
    'planted.ts',
    `// Of the planted words none is code.
const url = 'gives; // not a comment';
/**
 * Returns a value. It
 * ${words(12)}
 * ${words(12)}
 * ends. Another sentence
 * tells \`gives;\`; so there.
 */
export const value = url; // Fits.
// A sentence of ${words(13)}
// ${words(10)}.
`,
    ['1: begins with "Of"', '8: contains "tells"', '4: 26 words in a sentence', '11: 26 words in a sentence'],
  ],
  [
    'on a page',
    'planted.md',
    `# A heading; left out

In a page, a sentence may begin so. [Nobody](https://example.com/gives;) knows.

\`\`\`sh
echo gives; echo ${words(30)}
\`\`\`

- An item of ${words(10)}
- Another item of ${words(26)} with an address at https://example.com/;
- A line of ${'x'.repeat(120)}
`,
    ['3: contains "Nobody"', '11: more than 120 characters', '10: 33 words in a sentence'],
  ],
  [
    'on a page of long sentences',
    'long.md',
    `A sentence of ${words(15)}.\nA sentence of ${words(16)}.\n\n- A sentence of ${words(16)}.\n`,
    ['1: 18.7 words in a sentence on average'],
  ],
  [
    'in names of tests',
    'planted.test.ts',
    `describe('a word; a word', () => {
  it.each<number>([1, 2])('gives %i', () => expect('gives').toBe('gives'));
  it('says that', () => tells(\`somebody\`));
  test.for\`whoever\`(
    \`is \${'told'}\`,
  );
});
`,
    [
      '1: the name of a test contains ";"',
      '2: the name of a test contains "gives"',
      '5: the name of a test contains "told"',
    ],
  ],
])('the check of sentences finds each fault %s', async (_, name, text, faults) => {
  const file = join(temporaryFolder(), name);
  await writeFile(file, text);
  const lines = faults.map((fault) => `${file}:${fault}`);
  expect(await check(file)).toEqual([...lines, 'exit code 1']);
});

it('passes plain sentences, code, addresses and directives', async () => {
  const file = join(temporaryFolder(), 'plain.ts');
  const text = `// biome-ignore lint/suspicious/noConsole: so; and so
/** Returns the value of \`a; b\`. */
// A page explains it: https://example.com/${'a;'.repeat(60)}
export const none = 'gives;';
`;
  await writeFile(file, text);
  expect(await check(file)).toEqual(['exit code 0']);
});

function check(file: string): Promise<readonly string[]> {
  return new Promise((done) => {
    execFile(process.execPath, ['.ci/sentences.js', file], (error, stdout) => {
      done([...stdout.split('\n').filter((line) => line !== ''), `exit code ${error?.code ?? 0}`]);
    });
  });
}
