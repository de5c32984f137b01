import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { exampleConfig } from '../../bin/local/config.ts';
import { parseEnvironment } from '../../lib/settings/environment.ts';
import { blocks, commands, README, table } from '../support/readme.ts';
import { exampleForm } from '../unit/settings/example-form.ts';

describe('README.md', () => {
  it('has the two commands at its top', () => {
    expect(commands().slice(0, 2)).toEqual(['npm ci && npm start', 'npm ci && npm test']);
    expect(README.indexOf('```sh')).toBeLessThan(400);
    expect(README.split('\n').length).toBeLessThanOrEqual(151);
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
});
