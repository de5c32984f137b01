import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { identityPolicy } from '../../../client/commands/policy.ts';
import { memberAttributes, tokenAttributes } from '../../../functions/aws/pair-table/item.ts';
import type { PairRecord } from '../../../functions/broker/pair/record.ts';
import { environments } from '../../../lib/environments.ts';
import { TRAIL_ALARMS } from '../../../lib/monitoring/alarms.ts';
import { MAX_CALLER_ACCOUNTS } from '../../../lib/settings/access-rules.ts';
import { parseLocalConfig } from '../../../lib/settings/local-config.ts';
import { ALIAS, functionName, urlParameterName } from '../../../lib/settings/names.ts';
import { parseEnvironment } from '../../../lib/settings/settings.ts';
import { alarmsOf } from '../../support/aws/cloudwatch/template-alarms.ts';
import { readContract, responseOf } from '../../support/contract/openapi.ts';
import { alwaysOnMonth, costOf } from '../../support/prices.ts';
import { blocks, commands, README, table } from '../../support/readme.ts';
import { resourcesOf, synthesise } from '../../support/stack/synthesise.ts';
import { exampleForm } from '../../unit/settings/example-form.ts';

const ROOT = new URL('../../../', import.meta.url);
const readPage = (name: string) => readFileSync(new URL(name, ROOT), 'utf8');
const filesIn = (folder: string) => readdirSync(new URL(folder, ROOT));
const GUIDES = filesIn('docs').flatMap((file) => (file.endsWith('.md') ? `docs/${file}` : []));
const PAGES = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'client/README.md', ...GUIDES];
/** The most words of each page, and of all pages but docs/messages.md, which a script makes. */
const MOST_WORDS: Readonly<Record<string, number>> = {
  'README.md': 1_300,
  'CHANGELOG.md': 1_700,
  'SECURITY.md': 56,
  'client/README.md': 1_500,
  'docs/alarms.md': 1_600,
  'docs/callers.md': 2_200,
  'docs/deploy.md': 3_100,
  'docs/development.md': 1_900,
  'docs/messages.md': 2_500,
  'docs/pair.md': 1_500,
  'docs/performance.md': 700,
  'docs/runbook.md': 2_900,
  'docs/scale.md': 2_200,
  'docs/security.md': 3_600,
  'docs/stored.md': 700,
  'docs/ten-minutes.md': 600,
  'docs/token-endpoints.md': 600,
};
const MOST_WORDS_OF_ALL = 26_000;
const linksIn = (text: string) => [...text.matchAll(/\]\(([^)]+)/g)].map(([, link = '']) => link);
/** The anchors of a page, as GitHub makes them. */
const anchorsOf = (page: string) =>
  [...page.matchAll(/^#+ (.*)$|<a id="(.*?)">/gm)].map(([, title, id]) => {
    return `#${id ?? title?.toLowerCase().replaceAll(/[^\w-]/g, (sign) => (sign === ' ' ? '-' : ''))}`;
  });

describe.each(PAGES)('%s', (name) => {
  it('links only to files and sections that exist, and names only scripts that exist', () => {
    for (const link of linksIn(readPage(name)).filter((one) => !one.startsWith('https:'))) {
      const target = new URL(link, new URL(name, ROOT));
      expect(existsSync(target), link).toBe(true);
      if (target.hash !== '') expect(anchorsOf(readFileSync(target, 'utf8')), link).toContain(target.hash);
    }
    const { scripts }: { readonly scripts: object } = JSON.parse(readPage('package.json'));
    const named = [...readPage(name).matchAll(/npm run (?:--silent )?([\w:-]+)/g)].map(([, script = '']) => script);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
  });
});

it('no page has more words than its limit, and all pages have no more than theirs', () => {
  const counts = Object.fromEntries(PAGES.map((page) => [page, readPage(page).trim().split(/\s+/).length]));
  expect(Object.keys(counts).toSorted()).toEqual(Object.keys(MOST_WORDS).toSorted());
  const tooLong = Object.entries(counts).filter(([page, count]) => count > (MOST_WORDS[page] ?? 0));
  expect(tooLong).toEqual([]);
  const { 'docs/messages.md': _made, ...written } = counts;
  expect(Object.values(written).reduce((sum, count) => sum + count)).toBeLessThanOrEqual(MOST_WORDS_OF_ALL);
});

it('the newest version of CHANGELOG.md is that of both packages, the contract and the file to install', () => {
  const [, version] = /^## (\d+\.\d+\.\d+) – (?:unreleased|\d{4}-\d\d-\d\d)$/m.exec(readPage('CHANGELOG.md')) ?? [];
  const [main, lock, client] = ['package', 'package-lock', 'client/package'].map((file) =>
    JSON.parse(readPage(`${file}.json`)),
  );
  const versions = [main, lock, lock.packages[''], client, readContract().info].map((one) => one.version);
  expect(versions).toEqual(Array(5).fill(version));
  const files = ['docs/callers.md', 'client/README.md'].flatMap((page) => readPage(page).match(/client-.*?\.tgz/g));
  expect(new Set(files)).toEqual(new Set([`client-${version}.tgz`]));
});

describe('README.md', () => {
  it('has the two commands at its top', () => {
    expect(commands().slice(0, 2)).toEqual(['npm ci && npm start', 'npm ci && npm test']);
    expect(README.indexOf('```sh')).toBeLessThan(README.indexOf('\n## '));
    const firstScreen = README.slice(0, README.indexOf('\n## '));
    expect(firstScreen.split(/\s+/).length).toBeLessThanOrEqual(300);
  });

  it('shows settings that are right', () => {
    const settings = JSON.parse(JSON.stringify(runInNewContext(`({ ${blocks('ts').join('')} })`)));
    expect(Object.keys(settings)).toEqual(['accessRules', 'services']);
    expect(() => parseEnvironment('dev', { ...exampleForm(), ...settings })).not.toThrow();
  });
});

describe('the page about development', () => {
  const DEVELOPMENT = readPage('docs/development.md');

  it('lays out every folder, and nothing that is not there', () => {
    const [tree = ''] = blocks('text', DEVELOPMENT);
    let folder = '';
    const paths = tree.split('\n').flatMap((line) => {
      const [, indent = '', path] = /^( *)(\S+)/.exec(line) ?? [];
      if (path === undefined) return [];
      if (indent === '') folder = path;
      return indent === '' ? path : folder + path;
    });
    const built = ['node_modules', 'cdk.out', 'coverage'];
    const folders = readdirSync(ROOT, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !built.includes(entry.name))
      .map(({ name }) => `${name}/`);
    for (const path of paths) expect(existsSync(new URL(path, ROOT)), path).toBe(true);
    expect(paths).toEqual(expect.arrayContaining(folders));
  });

  it('shows a configuration that a local broker takes', () => {
    const [config = ''] = blocks('json', DEVELOPMENT);
    expect(() => parseLocalConfig(JSON.parse(config))).not.toThrow();
  });
});

describe('the page for callers', () => {
  const CALLERS = readPage('docs/callers.md');

  /** @see anomalyco/opencode#26259, TryGhost/docker-library-ghost#37 */
  it('lets no npx stand between a supervisor and `serve`, because it forwards no SIGTERM', () => {
    const starts = CALLERS.match(/^(?:ENTRYPOINT|ExecStart).*$/gm);
    const program = expect.stringMatching(
      /^\w+(?:=| \[")\/(?:serve|opt\/app)\/node_modules\/\.bin\/token-broker-client\b/,
    );
    expect(starts).toEqual([program, program]);
  });

  it('links every example, and shows how to run those that are programs for a checkout', () => {
    const linked = linksIn(CALLERS).flatMap((link) => /^examples\/(.*)/.exec(link)?.[1] ?? []);
    expect([...new Set(linked)].toSorted()).toEqual(filesIn('docs/examples').toSorted());
    const shown = commands(CALLERS).filter((command) => command.includes('docs/examples/'));
    const programs = ['token_broker.py', 'with-curl.sh', 'with-aws4fetch.js'];
    expect(shown.map((command) => command.replace(/^\S+ docs\/examples\//, ''))).toEqual(
      programs.map((file) => `${file} acme customer-insights`),
    );
  });

  it('shows the lines of Python that the head of the file shows', () => {
    const [program = ''] = blocks('python', CALLERS);
    const lines = program.split('\n').filter((line) => /broker[.=(]|TokenBroker\(|lambda/.test(line));
    expect(lines).toHaveLength(3);
    const head = readPage('docs/examples/token_broker.py');
    for (const line of lines) expect(head).toContain(line.trim());
  });

  it('shows for the CDK and for Terraform the policy that the command prints', () => {
    const statements: object[] = [];
    const role = { addToPrincipalPolicy: (statement: object) => statements.push(statement) };
    class PolicyStatement {
      constructor(props: object) {
        Object.assign(this, props);
      }
    }
    const [cdk = ''] = blocks('ts', CALLERS);
    runInNewContext(cdk, { role, PolicyStatement });
    const [terraform = ''] = blocks('hcl', CALLERS);
    const pairs = terraform.matchAll(/"(lambda:\w+)" += \{ (\w+) = \{ "([\w:]+)" = "(\w+)" \} \}/g);
    const resource = /Resource = "(.*)"/.exec(terraform)?.[1];
    const ofTerraform = [...pairs].map(([, action, operator = '', key = '', value]) => {
      return { actions: [action], resources: [resource], conditions: { [operator]: { [key]: value } } };
    });
    const { Statement }: ReturnType<typeof identityPolicy> = identityPolicy(`${resource}`);
    const printed = Statement.map(({ Action, Resource, Condition }) => {
      return { actions: [Action], resources: [Resource], conditions: Condition };
    });
    expect(JSON.parse(JSON.stringify(statements))).toEqual(printed);
    expect(ofTerraform).toEqual(printed);
    expect(CALLERS).toContain(`\`${urlParameterName('prod')}\``);
    expect(resource).toContain(`:${environments.prod?.account}:function:${functionName('prod')}:${ALIAS}`);
  });

  it('explains every answer of AWS that the contract shows, each in one row', () => {
    const contract = readContract();
    const shown = [403, 413, 429].flatMap((status) => {
      const examples = responseOf(contract, '/token', status)?.response.content?.['application/json']?.examples ?? {};
      return Object.values(examples).map(({ value }): [number, string] => [status, JSON.stringify(value)]);
    });
    const rows = table('status', CALLERS).filter(([status]) => status !== '5xx');
    const rowsOf = ([status, text]: [number, string]) =>
      rows.filter(([of, says = '']) => of === `${status}` && says.split('`, `').some((words) => text.includes(words)));
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.map(rowsOf)).toEqual(shown.map(() => [expect.any(Array)]));
    expect(new Set(shown.flatMap(rowsOf))).toEqual(new Set(rows));
  });
});

describe('the page about alarms', () => {
  const PAGE = readPage('docs/alarms.md');

  it('leaves the words about each alarm to the page of messages, which begins like the alarm itself', () => {
    const named = (act = '') => act.replace(/\[([^\]]+)\]\((\w+)\.md#[\w-]+\)/g, '"$1" (docs/$2.md)');
    const rows = table('alarm', readPage('docs/messages.md'));
    const told = new Map(rows.map(([name, means, act]) => [`token-broker-${name}-test`, `${means} ${named(act)}`]));
    const alarms = alarmsOf(synthesise('test', { ...exampleForm(), trail: {} }));
    expect(told.size).toBe(alarms.length);
    for (const { AlarmName, AlarmDescription } of alarms) {
      expect(AlarmDescription.startsWith(told.get(AlarmName) ?? '?'), AlarmName).toBe(true);
    }
  });

  it('leaves an alarm out as the settings take it', () => {
    const alarms = runInNewContext(`JSON.stringify(${/`alarms: (\{.*?\})` in/.exec(PAGE)?.[1]})`);
    const parsed = parseEnvironment('test', { ...exampleForm(), alarms: JSON.parse(alarms) });
    expect(JSON.stringify(parsed.alarms)).toBe(alarms);
  });
});

it('the page about security has a suite for every promise, and a promise for every attack', () => {
  const promises = table('promise', readPage('docs/security.md')).map(([, suites = '']) => linksIn(suites));
  expect(promises.length).toBeGreaterThan(12);
  for (const suites of promises) {
    expect(suites.length).toBeGreaterThan(0);
    expect(suites.filter((suite) => !/^\.\.\/test\/.*\.test\.ts$/.test(suite))).toEqual([]);
  }
  const files = readdirSync(new URL('test/attacks', ROOT), { recursive: true, encoding: 'utf8' });
  const attacks = files.filter((file) => file.endsWith('.test.ts')).map((file) => `../test/attacks/${file}`);
  expect(promises.flat()).toEqual(expect.arrayContaining(attacks));
});

it.each(['pair', 'runbook', 'stored'])('the diagram of docs/%s.md has the words of the pages', (name) => {
  const page = readPage(`docs/${name}.md`);
  const texts = blocks('mermaid', page).flatMap((diagram) => {
    return [...diagram.matchAll(/"([^"]+)"|\|([^|]+)\||: (.+)/g)].map(([, ...found]) => found.join(' '));
  });
  const words =
    texts
      .join(' ')
      .replaceAll('<br/>', ' ')
      .toLowerCase()
      .match(/[a-z]{4,}/g) ?? [];
  const prose = [page, ...GUIDES.map(readPage)]
    .join(' ')
    .replaceAll(/^```mermaid\n.*?^```$/gms, '')
    .toLowerCase();
  expect(words.length).toBeGreaterThan(10);
  expect(words.filter((word) => !prose.includes(word))).toEqual([]);
});

// @see aws/aws-cli#5343
it('the runbook lets no pager of the AWS CLI wait for a key in the middle of its commands', () => {
  expect(readPage('docs/runbook.md')).toMatch(/^export .* AWS_PAGER=$/m);
});

it('README.md and the runbook define the same `tb`', () => {
  const definition = /^tb\(\) \{.*\}$/m;
  expect(definition.exec(readPage('docs/runbook.md'))?.[0]).toBe(definition.exec(README)?.[0]);
});

it('the page about what is stored names every attribute of an item, and no others', () => {
  const wait = { until: 1, step: 1, problem: { type: 'internal', detail: '' } } as const;
  const record: PairRecord = {
    ...{ lease: { id: '', until: 1 }, token: undefined, attemptedAt: 1, forcedAt: 1, pause: wait },
    ...{ rejected: new Map([['v', { count: 1, at: 1, by: '' }]]), held: new Map([['v:s', wait]]) },
    ...{ checked: { version: '', at: 1, finding: 'accepted' }, disabled: undefined },
  };
  const written = { pair: '', tag: '', ...memberAttributes(record, 1), ...tokenAttributes(undefined), disabled: '' };
  const shown = table('attribute', readPage('docs/stored.md')).flatMap(([names = '']) => names.split(/`?, `?/));
  expect([...shown, 'forgetAt'].toSorted()).toEqual(Object.keys(written).toSorted());
});

describe('the page about scale', () => {
  const SCALE = readPage('docs/scale.md');
  const WORDS = SCALE.replaceAll(/\s+/g, ' ');
  const NOTHING_BILLED = { billedMs: 0, invocations: 0, reads: 0, writes: 0, secretReads: 0 };

  it.each([{ billedMs: 2 }, { billedMs: 8, reads: 1 }, { billedMs: 190, reads: 1, writes: 2, secretReads: 1 }])(
    'shows what a million calls cost that each are %o',
    (call) => {
      const million = Object.entries(call).map(([name, count]) => [name, count * 1e6]);
      const cost = costOf({ ...NOTHING_BILLED, ...Object.fromEntries(million), invocations: 1e6 });
      const parts = [cost.lambda, cost.dynamodb, cost.secretsManager, cost.logs];
      const all = [...parts, parts.reduce((sum, part) => sum + part)].map((amount) => `$${amount.toFixed(2)}`);
      const row = table('a million calls answered', SCALE).find(([what]) => what?.endsWith(`(${call.billedMs} ms)`));
      expect(row?.slice(1)).toEqual(all);
    },
  );

  it('says where a service that always runs is cheaper, and what share the logs have', () => {
    const { lambda, logs } = costOf({ ...NOTHING_BILLED, billedMs: 2, invocations: 1 });
    const callsPerSecond = alwaysOnMonth() / lambda / (720 * 3_600);
    expect(WORDS).toContain(`costs about $${alwaysOnMonth().toFixed(0)} a month`);
    expect(WORDS).toContain(`about ${Math.round(callsPerSecond / 10) * 10} calls/s`);
    expect(WORDS).toContain(`Logs are ${Math.round((logs / (lambda + logs)) * 100)} % of an answer from memory`);
  });

  it.each([50, 500])('knows what an environment of %i clients costs, which README rounds to ten dollars', (clients) => {
    const checks = clients * 2 * 720;
    const { lambda, dynamodb, secretsManager, logs } = costOf({
      ...{ billedMs: 190 * checks, invocations: checks, reads: checks, writes: 2 * checks, secretReads: checks },
    });
    const calls = costOf({ ...NOTHING_BILLED, billedMs: 2e6, invocations: 1e6 });
    const stack = synthesise('prod', environments.prod);
    const priceOf = (type: string, price: number) => resourcesOf(stack, `AWS::CloudWatch::${type}`).length * price;
    const environment = 1.4 + priceOf('Alarm', 0.1) + priceOf('CompositeAlarm', 0.5) + 30 * 0.3 + 3;
    const all = clients * 0.4 + lambda + dynamodb + secretsManager + logs + calls.lambda + calls.logs + environment;
    const [row] = table('a month', SCALE).filter(([what]) => what?.includes(` ${clients} clients`));
    expect(row?.at(-1)).toBe(`$${all.toFixed(2)}`);
    expect(README).toContain(`${Math.round(all / 10) * 10} dollars a month for ${clients} clients`);
  });

  it('knows how many accounts, alarms and resources an environment has', () => {
    expect(WORDS).toContain(`20 kB: ${MAX_CALLER_ACCOUNTS} accounts. \`synth\` refuses more`);
    const stack = synthesise('prod', environments.prod);
    expect(WORDS).toContain(`${resourcesOf(stack, 'AWS::CloudWatch::Alarm').length} × $0.10`);
    expect(WORDS).toContain(`${Object.keys(TRAIL_ALARMS).length} × ($0.10 + $0.30)`);
    expect(WORDS).toContain(`${Math.round(Object.keys(stack.template.Resources).length / 10) * 10} resources`);
  });
});
