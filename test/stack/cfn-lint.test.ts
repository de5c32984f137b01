import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cfnLintRules } from '../../lib/checks/acknowledgements.ts';
import { everyForm } from '../unit/settings/every-form.ts';
import { changed, exampleForm } from '../unit/settings/example-form.ts';
import { resourceOf, synthesise } from './synthesise.ts';

const COMMAND = 'cfn-lint';
// It is not from npm.
const isInstalled = (process.env.PATH ?? '')
  .split(path.delimiter)
  .some((folder) => existsSync(path.join(folder, COMMAND)));

describe.skipIf(!isInstalled)('cfn-lint (skipped where it is not installed)', () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'token-broker-test-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  const stack = synthesise('broken', exampleForm());
  const { id } = resourceOf(stack, 'TokenEndpoint', 'AWS::Lambda::Function');
  const templates = {
    ...Object.fromEntries(Object.entries(everyForm).map(([name, form]) => [name, synthesise(name, form).template])),
    broken: changed(stack.template, `Resources/${id}/Properties/MemorySize`, 64),
  };
  let findings: readonly Finding[];
  beforeAll(async () => {
    const files = Object.entries(templates).map(([name, template]) => {
      const file = path.join(directory, `${name}.template.json`);
      writeFileSync(file, JSON.stringify(template));
      return file;
    });
    findings = await lint(files);
  }, 180_000);

  it.each(Object.keys(everyForm))('has nothing more to say about %s', (name) => {
    const open = findings.filter(({ Filename, Rule }) => isAbout(Filename, name) && !(Rule.Id in cfnLintRules));
    expect(open).toEqual([]);
  });

  it.each(Object.keys(cfnLintRules))('still finds what is acknowledged: %s', (rule) => {
    const [name = ''] = Object.keys(everyForm);
    expect(findings.filter(({ Filename, Rule }) => isAbout(Filename, name) && Rule.Id === rule)).not.toEqual([]);
  });

  it('finds what is wrong', () => {
    const found = findings.filter(({ Filename }) => isAbout(Filename, 'broken')).map(({ Rule }) => Rule.Id);
    expect(found).toContain('E3034');
  });
});

interface Finding {
  readonly Filename: string;
  readonly Message: string;
  readonly Rule: { readonly Id: string };
}

/** Errors, warnings and informations: all of them. */
function lint(files: readonly string[]): Promise<readonly Finding[]> {
  const args = ['--format', 'json', '--include-checks', 'I', '--', ...files];
  return new Promise((resolve, reject) => {
    execFile(COMMAND, args, { maxBuffer: 2 ** 26 }, (_, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout));
      } catch {
        reject(new Error(`cfn-lint could not say what it found: ${stdout}${stderr}`));
      }
    });
  });
}

function isAbout(file: string, name: string): boolean {
  return path.basename(file) === `${name}.template.json`;
}
