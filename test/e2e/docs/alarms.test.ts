import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseEnvironment } from '../../../lib/settings/environment.ts';
import { synthesise } from '../../stack/synthesise.ts';
import { alarmsOf } from '../../support/cloudwatch/template-alarms.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

const PAGE = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
const SECTION = PAGE.split(/^## /m).find((section) => section.startsWith('Alarms\n')) ?? '';

it('the page about operations says of every alarm what the alarm says itself, and knows no other', () => {
  const rows = [...SECTION.matchAll(/^\| `([a-z0-9-]+)` +\| (.*?) +\| (.*?) +\|$/gm)];
  const told = rows.map(([, name, means, act]) => [`token-broker-${name}-test`, `${means} ${act}`]);
  const alarms = alarmsOf(synthesise('test', { ...exampleForm(), trail: {} }));
  expect(Object.fromEntries(told)).toEqual(
    Object.fromEntries(alarms.map(({ AlarmName, AlarmDescription }) => [AlarmName, AlarmDescription])),
  );
  expect(told).toHaveLength(alarms.length);
});

it('the page about operations names sections that it has', () => {
  const quoted = [...SECTION.matchAll(/[Ff]ollow "([^"]+)"/g)].map(([, title]) => title);
  expect(quoted.length).toBeGreaterThan(2);
  for (const title of quoted) expect(PAGE).toContain(`\n## ${title}\n`);
});

it('the example of an alarm that is left out on the page about operations is what the settings take', () => {
  const example = /`alarms: (\{.*?\})` in/.exec(SECTION)?.[1] ?? '';
  const alarms = JSON.parse(example.replaceAll(/(\w+):/g, '"$1":').replaceAll("'", '"'));
  expect(parseEnvironment('test', { ...exampleForm(), alarms }).alarms).toEqual(alarms);
});
