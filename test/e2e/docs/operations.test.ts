import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { runInNewContext } from 'node:vm';
import { describe, expect, it, onTestFinished } from 'vitest';
import { environments } from '../../../lib/environments.ts';
import { tokenRoleName } from '../../../lib/settings/names.ts';
import { environmentSchema, parseEnvironment } from '../../../lib/settings/settings.ts';
import { runs } from '../../support/aws/signers.ts';
import { blocks } from '../../support/readme.ts';
import { ISOLATED, ROOT } from '../commands/shared/command-line.ts';
import { NEW, OLD, type OperatorWorld, startOperatorWorld, WRONG } from '../commands/shared/operator-world.ts';

const PAGE = ['runbook', 'deploy', 'alarms']
  .map((page) => readFileSync(new URL(`../../../docs/${page}.md`, import.meta.url), 'utf8'))
  .join('\n');

interface Run {
  /** A part of the commands that it is about. */
  readonly about: RegExp;
  readonly exitCode?: number;
  /** Typed, or sent, to its standard input. */
  readonly input?: object;
  /** Must be in the output at the end; a command without an end is interrupted once it is there. */
  readonly shows?: RegExp;
  /** The steps before it. */
  readonly prepare?: (world: OperatorWorld) => unknown;
}

/** The blocks of each section, in the order of the pages, as they are run against a local broker. */
const SECTIONS: Readonly<Record<string, readonly Run[]>> = {
  'Onboard a client': [
    { about: /client put hooli/, input: NEW, shows: /accepted .*hooli: version .* is AWSCURRENT/s },
    { about: /policy/, shows: /lambda:InvokeFunctionUrl.*token-broker-prod/s },
    { about: /client check hooli/, shows: /hooli: current .*customer-insights .*accepted/s },
  ],
  'Rotate a credential': [
    { about: /client put acme/, input: NEW, shows: /acme: version .* is AWSCURRENT/ },
    { about: /client promote acme/, prepare: (world) => world.store(NEW), shows: /is AWSCURRENT/ },
    { about: /client rollback acme/, shows: /is AWSCURRENT/ },
    { about: /client discard acme/, prepare: (world) => world.store(WRONG), shows: /is discarded/ },
  ],
  'A credential that ends': [
    {
      about: /client list/,
      prepare: ({ run }) => run('client put acme --yes --expires 2098-03-01', { input: NEW }),
      shows: /^acme: .*; ends 2098-03-01T00:00:00Z/m,
    },
    { about: /client put acme --expires/, input: OLD, shows: /stores the end .*2099-03-01.*is AWSCURRENT/s },
  ],
  'A rejected credential': [
    {
      about: /client check acme/,
      prepare: (world) => world.store(WRONG, 'AWSCURRENT'),
      exitCode: 1,
      shows: /rejected/,
    },
    { about: /client rollback acme/, shows: /is AWSCURRENT/ },
    { about: /client put acme/, input: NEW, shows: /is AWSCURRENT/ },
    { about: /client retry acme/, shows: /CLEARED VERSIONS.*acme +customer-insights +[0-9a-f]{8}.*accepted/s },
  ],
  'A service incident': [
    { about: /health$/, prepare: (world) => fail(world, 503), exitCode: 1, shows: /acme +unreachable/ },
    { about: /client check/, exitCode: 1, shows: /customer-insights +unreachable/ },
    { about: /doctor/, exitCode: 1, shows: /FAILED +call +token-endpoint-unavailable/ },
    { about: /--auth-url/, exitCode: 1, shows: /token-endpoint-unavailable/ },
    { about: /--watch/, prepare: (world) => fail(world, undefined), exitCode: 130, shows: /acme +accepted +accepted/ },
    { about: /--run/, shows: /^acme +accepted +accepted$/m },
    { about: /client retry --service/, shows: /^acme +customer-insights +- +- +(?:-|ended)$/m },
  ],
  'A silent health': [{ about: /health$/, shows: /acme +accepted/ }],
  'A leaked credential': [
    { about: /client disable acme/, shows: /acme is disabled.*ends it\.\n$/s },
    { about: /client put acme --force/, input: NEW, shows: /disabled .*is AWSCURRENT/s },
    { about: /client discard acme --previous/, shows: /is discarded/ },
    { about: /client enable acme/, shows: /acme is enabled.*accepted/s },
    { about: /audit acme/, shows: /TIME .*:operator\S* +check +customer-insights +accepted/s },
  ],
  'Restore a deleted secret': [
    { about: /client show/, prepare: ({ run }) => run('client delete acme --yes'), shows: /to be deleted on/ },
    { about: /client restore/, shows: /accepted/ },
  ],
  'A call that fails': [
    { about: /doctor/, shows: /ok +call +A token was issued/ },
    { about: /token --client/, shows: /fingerprint +[0-9a-f]{16}/ },
  ],
  Deploy: [{ about: /config prod/, shows: /^canary\.percent +10 +written$/m }],
  'Who deploys': [
    { about: /policy --execution/, shows: /MakeTheKey.*UseTheBootstrap/s },
    { about: /policy --boundary/, shows: /AssumeOnlyTheProbeOfHealth/ },
  ],
  'Roles of operators': [{ about: /policy --operator/, shows: /LookAfterTheSecrets.*StopTheBroker/s }],
  Settings: [{ about: /--key-policy/, shows: /"Sid": "UseForLogs"/ }],
  'Rotate the sealing key': [
    { about: /sealing-key rotate/, shows: /^sealing key: version .* is AWSCURRENT$/m },
    { about: /sealing-key retire/, exitCode: 1, shows: /too-early/ },
    { about: /retire --force/, shows: /^sealing key: version .* is retired$/m },
  ],
  'Guard the function': [{ about: /policy --guard/, shows: /"Effect": "Deny".*as a service control policy/s }],
};

/** Blocks that are about a deployed stack, which is not on this machine. */
const EXCEPTIONS = [
  ...[/aws cloudformation describe-stacks/, /npm run deploy/, /-concurrency/, /^tb release /, /resource-policy/],
  ...[/npm run bootstrap/, /doctor --stack/, /^topic=\$\(aws sns /, /^aws sns /],
  ...[/aws organizations/, /aws lambda (?:invoke|delete-function)/, /^output KeyArn$/, /cdk -- (?:destroy|rollback)/],
];

const hasAws = runs('aws', '--version');
const note = hasAws ? '' : ' (skipped: the AWS command line is not installed)';

describe('the pages about operations', () => {
  it('has a test for every section with commands, and no exception in vain', () => {
    const sections = sectionsOf(PAGE);
    expect(sections.filter(({ blocks }) => blocks.length > 0).map(({ title }) => title)).toEqual(Object.keys(SECTIONS));
    const all = [...PAGE.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].map(([, text = '']) => text.trim());
    for (const exception of EXCEPTIONS) expect(all).toContainEqual(expect.stringMatching(exception));
  });

  it.skipIf(!hasAws)(`shows commands about a deployed function that the AWS command line takes${note}`, () => {
    const commands = [...PAGE.matchAll(/^ *```sh\n +?(aws lambda (?:\S+-concurrency|delete-function).*)\n *```$/gm)];
    expect(commands.length).toBeGreaterThanOrEqual(4);
    const nowhere = { AWS_ENDPOINT_URL: 'http://127.0.0.1:9', AWS_MAX_ATTEMPTS: '1', AWS_DEFAULT_REGION: 'eu-west-1' };
    const env = { ...ISOLATED, PATH: process.env.PATH, TOKEN_BROKER_ENVIRONMENT: 'dev', ...nowhere };
    for (const [, command = ''] of commands) {
      const { stderr } = spawnSync('sh', ['-c', command], { env, encoding: 'utf8' });
      // A command that it does not understand is never sent.
      expect(stderr, command).toContain('Could not connect to the endpoint URL: "http://127.0.0.1:9/');
    }
  });

  const SERVICE = 'customer-insights';

  it('shows settings that are right, and has every setting of how an environment is run', () => {
    const settings = JSON.parse(JSON.stringify(runInNewContext(`({ ${blocks('ts', PAGE).join('')} })`)));
    expect(Object.keys(settings)).toEqual(['vpc', SERVICE, 'keyArn']);
    // A service is shown by itself; its certificates lie beside the settings of the reader.
    delete settings[SERVICE];
    expect(() => parseEnvironment('prod', { ...environments.prod, ...settings })).not.toThrow();
    const told = ['account', 'region', 'services', 'accessRules', 'health'];
    const others = Object.keys(environmentSchema('.').shape).filter((setting) => !told.includes(setting));
    for (const setting of others) expect(PAGE).toContain(setting);
  });

  it('closes the secrets to every role but that of the token function', () => {
    const [policy = ''] = blocks('json', PAGE);
    const [statement] = JSON.parse(policy).Statement;
    const role = `arn:aws:iam::${environments.prod?.account}:role/${tokenRoleName('prod')}`;
    const denied = { Effect: 'Deny', Principal: '*', Action: 'secretsmanager:GetSecretValue' };
    expect(statement).toMatchObject({ ...denied, Condition: { ArnNotEquals: { 'aws:PrincipalArn': role } } });
  });
});

describe.skipIf(!hasAws)(`the commands of the pages about operations${note}`, () => {
  it.each(Object.entries(SECTIONS))('%s', async (title, expected) => {
    const world = await startOperatorWorld();
    const steps = sectionsOf(PAGE).find((section) => section.title === title)?.blocks ?? [];
    expect(steps).toHaveLength(expected.length);
    for (const [index, block] of steps.entries()) {
      const { about, exitCode = 0, input, shows = /./, prepare } = expected[index] ?? { about: /^$/ };
      expect(block).toMatch(about);
      world.letHalfAMinutePass();
      await prepare?.(world);
      const result = await runBlock(block, world, input, exitCode === 130 ? shows : undefined);
      expect(result, block).toEqual({ exitCode, output: expect.stringMatching(shows) });
      expect(result.output).not.toMatch(/marked-/);
      await world.eventsSettled();
    }
  });
});

/** Each section with its shell blocks but for the exceptions, without their indentation. */
function sectionsOf(page: string) {
  const [, ...parts] = page.split(/^## /m);
  return parts.map((part) => ({
    title: part.slice(0, part.indexOf('\n')),
    blocks: [...part.matchAll(/^( *)```sh\n(.*?)^ *```$/gms)]
      .map(([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), '').trimEnd())
      .filter((block) => !EXCEPTIONS.some((exception) => exception.test(block))),
  }));
}

/** Runs a block as a person does: in a shell of its own, in the folder of the project; presses Ctrl-C when `until` has been seen. */
async function runBlock(block: string, world: OperatorWorld, input?: object, until?: RegExp) {
  const env = {
    ...ISOLATED,
    ...{ PATH: process.env.PATH, AWS_DEFAULT_REGION: 'us-east-1', TOKEN_BROKER_ENVIRONMENT: 'local' },
    ...world.shell,
    AUTH_URL: world.tokenService.authUrl('customer-insights'),
  };
  const args = ['--norc', '-euo', 'pipefail', '-c', NPM + TB + unasked(block)];
  const child = spawn('bash', args, { env, cwd: ROOT, detached: true });
  onTestFinished(() => interrupt(child, 'SIGKILL'));
  child.stdin.on('error', () => undefined).end(input === undefined ? '' : JSON.stringify(input));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (until?.test(output)) interrupt(child, 'SIGINT');
    });
  }
  const [code] = await once(child, 'close');
  return { exitCode: code ?? 128 + constants.signals.SIGINT, output };
}

/** The page shows `client put` as it is typed at a terminal; here its credential comes from standard input. */
function unasked(block: string): string {
  return block.replace(/client put .*/, '$& --yes');
}

/** In place of npm, which needs half a second for each command; test/e2e/readme-commands.test.ts runs npm itself. */
const NPM = `npm() {
  [[ "$*" =~ ^run\\ (--silent\\ )?token-broker\\ --\\  ]] || return 127
  while [ "$1" != -- ]; do shift; done
  node cli/token-broker.ts "\${@:2}"
}
`;

/** The function that the runbook has its reader define first. */
const [TB = ''] = /^tb\(\) \{.*\}\n/m.exec(PAGE) ?? [];

/** Signals as a terminal does: every process in the foreground gets the signal. */
function interrupt({ pid, exitCode, signalCode }: ChildProcess, signal: 'SIGINT' | 'SIGKILL'): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal);
}

function fail({ tokenService }: OperatorWorld, status: number | undefined) {
  tokenService.behave(undefined, status === undefined ? {} : { answer: { status } });
}
