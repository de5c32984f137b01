import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAILURES } from '../../../client/error.ts';
import { ROOT } from '../commands/shared/command-line.ts';
import { installPackedClient, type PackedClient } from './packed-client.ts';

const README = readFileSync(join(ROOT, 'client/README.md'), 'utf8');

let packed: PackedClient;
beforeAll(async () => {
  packed = await installPackedClient();
}, 180_000);
afterAll(() => packed?.close());

describe('the packed client', () => {
  it('is built by packing, is small, and holds only what callers need', () => {
    expect(statSync(packed.tarball).size).toBeLessThanOrEqual(75_000);
    const files = execFileSync('tar', ['-tzf', packed.tarball], { encoding: 'utf8' }).trim().split('\n');
    const typings = /^package\/dist\/(esm|cjs)\/(client\/[a-z-]+|functions\/(vocabulary|sigv4|broker\/json))\.d\.ts$/;
    const programs = ['cjs/index.js', 'cjs/package.json', 'cjs/testing.js', 'esm/commands.js', 'esm/index.js'];
    expect(files.filter((file) => !typings.test(file)).toSorted()).toEqual([
      'package/README.md',
      ...[...programs, 'esm/testing.js'].map((file) => `package/dist/${file}`),
      'package/package.json',
    ]);
  });

  // Jest loads it in scripts, where nothing answers `import()`.
  it('has no dynamic import in CommonJS', () => {
    const [index, testing] = ['index.js', 'testing.js'].map((file) => join(packed.installed, 'dist/cjs', file));
    expect(readFileSync(`${index}`, 'utf8')).toContain('require("@aws-sdk/credential-provider-node")');
    for (const file of [index, testing]) expect(readFileSync(`${file}`, 'utf8')).not.toMatch(/\bimport\(/);
  });

  it('asks for the versions that are tested here', () => {
    for (const [name, asked] of Object.entries(packed.manifest.dependencies)) {
      const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'));
      expect(asked, name).toBe(`^${version}`);
    }
  });

  it('names for each entry, and for TypeScript that knows no exports (node10), files that it has', () => {
    const { bin, main, types, typesVersions, exports } = packed.manifest;
    const conditions = ['.', './testing'].flatMap((entry) => [exports[entry].import, exports[entry].require]);
    const named = conditions.flatMap((files) => Object.values<string>(files));
    // Such a TypeScript must see the files of `require`; the installed version has no node10 to try it with.
    expect({ main, types }).toEqual({ main: exports['.'].require.default, types: exports['.'].require.types });
    expect(typesVersions).toEqual({ '*': { testing: [exports['./testing'].require.types] } });
    for (const file of [bin, ...named]) expect(statSync(join(packed.installed, file)).isFile(), file).toBe(true);
    expect(named).toHaveLength(8);
  });
});

describe('on the Node of the tests', () => {
  const node = process.execPath;

  it.each<[string, () => string[] | Promise<string[]>]>([
    ['as an ES module', () => [written('script.mjs', SCRIPT)]],
    ['as CommonJS', () => [written('script.cjs', inCommonJs(SCRIPT))]],
    ['bundled as an ES module', () => bundled('esm', 'bundle.mjs')],
    ['bundled as CommonJS', () => bundled('cjs', 'bundle.cjs')],
  ])('asks the broker, or a fake in its place: %s', async (way, argsOf) => {
    const { stdout, stderr } = await packed.run(node, await argsOf(), BILLING);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      node: process.versions.node.split('.')[0],
      given: { type: 'access-denied', isSame: true, hasLoadedChain: false },
      standard: { accessToken: '[redacted]', tokenType: 'Bearer' },
      hasLoadedChain: !way.startsWith('bundled'),
      fake: { isOne: true, type: 'credential-rejected' },
    });
  });

  function written(name: string, script: string): string {
    const file = join(packed.project, name);
    writeFileSync(file, script);
    return file;
  }

  async function bundled(format: 'esm' | 'cjs', name: string): Promise<string[]> {
    const outfile = join(packed.project, name);
    const entryPoints = [written('script.mjs', SCRIPT)];
    await build({ entryPoints, outfile, bundle: true, platform: 'node', target: 'node22', format });
    return [outfile];
  }

  it('brings the commands of a caller', async () => {
    const program = join(packed.installed, packed.manifest.bin);
    const run = (args: string) => packed.run(node, [program, ...args.split(' ')], BILLING);
    const pair = '--client acme --service customer-insights';
    expect(readFileSync(program, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);

    const token = await run(`token ${pair} --json`);
    expect(token).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(token.stdout)).toMatchObject({ fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(token.stdout).not.toContain('access_token');
    expect(await run('--version')).toEqual({ exitCode: 0, stdout: `${packed.manifest.version}\n`, stderr: '' });
    expect(await run('policy arn:aws:iam::111111111111:role/billing')).toMatchObject({
      ...{ exitCode: 2, stdout: '' },
      stderr: expect.stringMatching(/^error: which function\? Give --function-arn/),
    });
    const { stdout: help } = await run('--help');
    const names = [...help.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name);
    expect(names).toEqual(['token', 'whoami', 'doctor', 'policy', 'serve', 'help']);
  });
});

describe("the client's README", () => {
  const examples = Object.fromEntries(
    [...README.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ''], n) => [`example-${n}`, code]),
  );

  it.each([
    ['with the types of Node', 'mts', { types: ['node'] }],
    ['with those of a browser', 'mts', { types: [], lib: ['es2023', 'dom', 'dom.iterable'] }],
    // The declarations themselves were checked by then.
    ['in a bundler', 'mts', { types: ['node'], module: 'esnext', moduleResolution: 'bundler', skipLibCheck: true }],
    ['as CommonJS', 'cts', { types: ['node'], module: 'node16', verbatimModuleSyntax: false, skipLibCheck: true }],
  ])('has examples that the types accept, as correct calls and no wrong ones: %s', (_, extension, options) => {
    const files = Object.entries({ calls: CALLS, ...examples }).map(([name, code]) => {
      // Only an ES module awaits at its top level.
      writeFileSync(join(packed.project, `${name}.${extension}`), extension === 'cts' ? inFunction(code) : code);
      return `${name}.${extension}`;
    });
    const config = { compilerOptions: { ...STRICT, ...options }, files };
    writeFileSync(join(packed.project, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', packed.project], { encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
    expect(Object.keys(examples)).toHaveLength(6);
  });

  it('lists every failure, and whether it is retryable', () => {
    const listOf = (title: string) => {
      const [, list = ''] = new RegExp(`^- ${title}: ([^.]+)`, 'm').exec(README) ?? [];
      return [...list.matchAll(/`([a-z-]+)`/g)].map(([, type]) => type);
    };
    const types = (isRetryable: boolean) =>
      Object.entries(FAILURES).flatMap(([type, { retryable }]) => (retryable === isRetryable ? type : []));
    expect([listOf('Retryable'), listOf('Not retryable')]).toEqual([types(true), types(false)]);
  });
});

const BILLING = { AWS_ACCESS_KEY_ID: 'AKIDLOCALBILLING', AWS_SECRET_ACCESS_KEY: 'local-billing-secret' };

const SCRIPT = `
import Module from 'node:module';
import { createTokenBroker, TokenBrokerError } from 'token-broker-client';
import { createFakeBroker } from 'token-broker-client/testing';
const url = process.env.TOKEN_BROKER_URL;
const pair = { client: 'acme', service: 'customer-insights' };
const hasLoadedChain = () => Object.keys(Module._cache).some((file) => file.includes('credential-provider-node'));
void async function calls() {
  const credentials = { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' };
  const broker = createTokenBroker({ url, credentials });
  const { fingerprint } = await broker.token(pair);
  const isSame = fingerprint === await broker.withToken(pair, (token) => token.fingerprint);
  const { type } = await broker.token({ ...pair, client: 'unknown' }).catch((error) => error);
  const given = { isSame, type, hasLoadedChain: hasLoadedChain() };
  const standard = await createTokenBroker({ url }).token(pair);
  const fake = createFakeBroker();
  fake.fail('credential-rejected');
  const error = await fake.broker.token(pair).catch((error) => error);
  console.log(JSON.stringify({
    node: process.versions.node.split('.')[0],
    given, standard, hasLoadedChain: hasLoadedChain(),
    fake: { isOne: error instanceof TokenBrokerError, type: error.type },
  }));
}();`;

/** The same lines, as `require` loads them. */
function inCommonJs(script: string): string {
  return script.replaceAll(/^import (.*) from (.*);$/gm, 'const $1 = require($2);');
}

const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  skipLibCheck: false,
  noEmit: true,
  target: 'es2023',
  module: 'nodenext',
};

/** Calls beside those of the README, and some that a caller may not write. */
const CALLS = `
import { createTokenBroker } from 'token-broker-client';
import type { Caller, Check, IssuedToken, TokenBroker, TokenBrokerOptions } from 'token-broker-client';
import { createFakeBroker, type FakeBroker } from 'token-broker-client/testing';

declare const maybe: { minTtl: number | undefined; signal: AbortSignal | undefined; region: string | undefined };
const options: TokenBrokerOptions = { url: 'https://broker.example.com', region: maybe.region, cache: false };
const broker: TokenBroker = createTokenBroker(options);
const pair = { client: 'acme', service: 'customer-insights' };
const token: IssuedToken = await broker.token({ ...pair, ...maybe, deadline: Date.now() + 1_000 });
const typed: typeof fetch = broker.fetchFor(pair);
const check: Check = await broker.check({ ...pair, stage: 'AWSPENDING' });
const caller: Caller = await broker.whoami();
const fake: FakeBroker = createFakeBroker({ caller });
void [token.scope, check, typed, fake.broker satisfies TokenBroker];

// @ts-expect-error the service is missing
void broker.token({ client: 'acme' });
// @ts-expect-error a token cannot be changed
token.accessToken = '';
// @ts-expect-error no such stage
void broker.check({ ...pair, stage: 'OTHER' });
// @ts-expect-error no such problem
fake.fail('no-such-problem');
// @ts-expect-error the URL is missing
createTokenBroker({});
`;

/** Puts the code after the imports and declarations into an async function. */
function inFunction(code: string): string {
  const outside = (line: string) => /^(import|declare) /.test(line);
  const lines = code.split('\n');
  const [head, body] = [lines.filter(outside), lines.filter((line) => !outside(line))];
  return [...head, 'void async function calls() {', ...body, '};'].join('\n');
}
