import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { cfnLintRules } from '../../lib/checks/acknowledgements.ts';
import { everyForm } from '../unit/settings/every-form.ts';
import { changed } from '../unit/settings/example-form.ts';
import { resourceOf, synthesise } from './synthesise.ts';
import { SYNTHESISED } from './synthesise-once.ts';

const COMMAND = 'cfn-lint';
// It is not from npm.
const isInstalled = (process.env.PATH ?? '')
  .split(path.delimiter)
  .some((folder) => existsSync(path.join(folder, COMMAND)));

describe.skipIf(!isInstalled)('cfn-lint (skipped where it is not installed)', () => {
  const names = Object.keys(everyForm);
  let findings: ReadonlyMap<string, readonly string[]>;
  beforeAll(async () => {
    const templates = names.map((name) => [name, synthesise(name, everyForm[name]).template] as const);
    const plain = synthesise('all-defaults', everyForm['all-defaults']);
    const { id } = resourceOf(plain, 'TokenEndpoint', 'AWS::Lambda::Function');
    const broken = changed(plain.template, `Resources/${id}/Properties/MemorySize`, 64);
    findings = await lint([...templates, ['broken', broken]]);
  }, 180_000);

  it.each(names)('has nothing more to say about %s than what is acknowledged', (name) => {
    expect(findings.get(name)?.filter((rule) => !(rule in cfnLintRules)) ?? []).toEqual([]);
  });

  it.each(Object.keys(cfnLintRules))('still finds what is acknowledged: %s', (rule) => {
    expect(findings.get(names[0] ?? '')).toContain(rule);
  });

  it('finds what is wrong', () => {
    expect(findings.get('broken')).toContain('E3034');
  });
});

/** The ids of errors, warnings and informations, by template. */
function lint(templates: readonly (readonly [string, unknown])[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const directory = mkdtempSync(path.join(SYNTHESISED, 'linted-'));
  const files = templates.map(([name, template]) => {
    const file = path.join(directory, `${name}.template.json`);
    writeFileSync(file, JSON.stringify(template));
    return file;
  });
  const args = ['--format', 'json', '--include-checks', 'I', '--', ...files];
  return new Promise((resolve, reject) => {
    execFile(COMMAND, args, { maxBuffer: 2 ** 26 }, (_, stdout, stderr) => {
      try {
        const found: readonly { Filename: string; Rule: { Id: string } }[] = JSON.parse(stdout);
        const byName = Map.groupBy(found, ({ Filename }) => path.basename(Filename, '.template.json'));
        resolve(new Map([...byName].map(([name, own]) => [name, own.map(({ Rule }) => Rule.Id)])));
      } catch {
        reject(new Error(`cfn-lint could not say what it found: ${stdout}${stderr}`));
      }
    });
  });
}
