import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAILURES } from '../../../client/error.ts';
import { installPackedClient, type PackedClient, ROOT, versionOf } from './packed-client.ts';

const README = readFileSync(join(ROOT, 'client/README.md'), 'utf8');

/** The Node of the machine, as against the one that `npm ci` brings along. */
const node20 = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((file) => spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout?.startsWith('v20.'));

let packed: PackedClient;
beforeAll(async () => {
  packed = await installPackedClient();
}, 180_000);
afterAll(() => packed?.close());

describe('the packed client', () => {
  it('is built by packing, is small, and holds only what callers need', () => {
    expect(statSync(packed.tarball).size).toBeLessThanOrEqual(60_000);
    const files = execFileSync('tar', ['-tzf', packed.tarball], { encoding: 'utf8' }).trim().split('\n');
    const typings = /^package\/dist\/(esm|cjs)\/(client\/[a-z-]+|functions\/contract)\.d\.ts$/;
    expect(files.filter((file) => !typings.test(file)).toSorted()).toEqual([
      'package/README.md',
      'package/dist/cjs/index.js',
      'package/dist/cjs/package.json',
      'package/dist/cjs/testing.js',
      'package/dist/esm/commands.js',
      'package/dist/esm/index.js',
      'package/dist/esm/testing.js',
      'package/package.json',
    ]);
  });

  it('asks for the versions that are tested here', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'client/package.json'), 'utf8'));
    const tested = Object.keys(dependencies).map((name) => [name, `^${versionOf(name)}`]);
    expect(dependencies).toEqual(Object.fromEntries(tested));
  });

  it('names for each entry, and for TypeScript that knows no exports (node10), files that it has', () => {
    const { bin, main, types, typesVersions, exports } = JSON.parse(
      readFileSync(join(packed.installed, 'package.json'), 'utf8'),
    );
    const conditions = ['.', './testing'].flatMap((entry) => [exports[entry].import, exports[entry].require]);
    const named = conditions.flatMap((files) => Object.values<string>(files));
    // What `require` gets is what such a TypeScript must see; why it cannot be tried is a test below.
    expect({ main, types }).toEqual({ main: exports['.'].require.default, types: exports['.'].require.types });
    expect(typesVersions).toEqual({ '*': { testing: [exports['./testing'].require.types] } });
    for (const file of [bin, ...named]) expect(statSync(join(packed.installed, file)).isFile(), file).toBe(true);
    expect(named).toHaveLength(8);
  });

  const versions: [string, string | undefined][] = [
    ['20', node20],
    ['24', process.execPath],
  ];
  for (const [version, node] of versions) {
    const skipped = node === undefined ? ` (skipped: there is no Node ${version} on this machine)` : '';

    describe.skipIf(node === undefined)(`on Node ${version}${skipped}`, () => {
      it.each(['esm', 'cjs'] as const)('asks the broker as the AWS identity of the process (%s)', async (format) => {
        const told = await packed.run('print({ token: await createTokenBroker({ url }).token(PAIR) });', {
          ...{ node, format },
          env: BILLING,
        });
        expect(told).toMatchObject({
          node: version,
          hasLoadedChain: true,
          token: {
            accessToken: '[redacted]',
            tokenType: 'Bearer',
            fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
          },
        });
      });

      it.each(['esm', 'cjs'] as const)(
        'loads no credential chain when it is given credentials, and ends by itself (%s)',
        async (format) => {
          const told = await packed.run(
            `const broker = createTokenBroker({ url, credentials: { accessKeyId: 'AKIDLOCALBILLING', secretAccessKey: 'local-billing-secret' } });
            const { fingerprint } = await broker.token(PAIR);
            const again = await broker.withToken(PAIR, (token) => token.fingerprint);
            const { type } = await broker.token({ ...PAIR, client: 'unknown' }).catch((error) => error);
            print({ isSame: fingerprint === again, type });`,
            { node, format },
          );
          expect(told).toEqual({ node: version, hasLoadedChain: false, isSame: true, type: 'access-denied' });
        },
      );

      it.each(['esm', 'cjs'] as const)(
        'brings a fake broker whose errors are those of the client (%s)',
        async (format) => {
          const told = await packed.run(
            `const { createFakeBroker } = ${load('token-broker-client/testing', format)};
          const { TokenBrokerError } = ${load('token-broker-client', format)};
          const { broker, fail } = createFakeBroker();
          const { fingerprint } = await broker.token(PAIR);
          fail('credential-rejected');
          const error = await broker.token({ ...PAIR, client: 'other' }).catch((error) => error);
          print({ isOne: error instanceof TokenBrokerError, type: error.type, length: fingerprint.length });`,
            { node, format },
          );
          expect(told).toEqual({
            ...{ node: version, hasLoadedChain: false },
            ...{ isOne: true, type: 'credential-rejected', length: 16 },
          });
        },
      );

      it('works in the tests of Jest, where nothing answers `import()`, as does its fake', async () => {
        const { exitCode, stderr } = await packed.jest(IN_JEST, { node, env: BILLING });
        expect(stderr).toContain('Tests:       2 passed, 2 total');
        expect(exitCode).toBe(0);
      });

      it('brings the commands of a caller', async () => {
        const run = (args: string, env: Readonly<Record<string, string>> = BILLING) =>
          packed.command(args.split(' '), { node, env });
        const pair = '--client acme --service customer-insights';

        const token = await run(`token ${pair} --json`);
        expect(token).toMatchObject({ exitCode: 0, stderr: '' });
        expect(JSON.parse(token.stdout)).toMatchObject({ fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/) });
        expect(token.stdout).not.toContain('access_token');

        const role = 'arn:aws:iam::111111111111:role/billing';
        const { stdout: whoami } = await run('whoami');
        expect(whoami).toBe(`${role}\ntoken for acme, globex, initech on all\n`);

        const doctor = await run(`doctor ${pair}`);
        expect(doctor).toMatchObject({ exitCode: 0, stderr: 'Nothing is wrong.\n' });
        expect(doctor.stdout).toMatch(/^ok {6}call {13}A token was issued/m);

        const refused = await run('doctor --client umbrella --service customer-insights --json');
        expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/^access-denied: /) });
        expect(refused.stdout).toContain(`You are ${role}; its access rules allow token for acme, globex, initech`);

        const arn = 'arn:aws:lambda:eu-west-1:111111111111:function:token-broker-prod:live';
        const policy = await run(`policy ${role} --function-arn ${arn}`, {});
        expect(JSON.parse(policy.stdout).Statement).toMatchObject([{ Resource: arn }, { Resource: arn }]);
        expect(await run(`policy ${role}`)).toMatchObject({
          ...{ exitCode: 2, stdout: '' },
          stderr: expect.stringMatching(/^error: which function\? Give --function-arn/),
        });
        expect(await run('client list')).toMatchObject({ exitCode: 2, stdout: '' });
      });
    });
  }
});

describe('the types of the package', () => {
  const examples = Object.fromEntries(
    [...README.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ''], n) => [`example-${n}`, code]),
  );

  it.each([
    ['with the types of Node', 'mts', { types: ['node'] }],
    ['with those of a browser', 'mts', { types: [], lib: ['es2023', 'dom', 'dom.iterable'] }],
    ['in a bundler', 'mts', { types: ['node'], module: 'esnext', moduleResolution: 'bundler' }],
    ['as CommonJS', 'cts', { types: ['node'], module: 'node16', verbatimModuleSyntax: false }],
  ])(
    'accept the examples of its README and correct calls, and refuse wrong ones: %s',
    async (_, extension, options) => {
      const files = Object.entries({ calls: CALLS, ...examples }).map(([name, code]) => [`${name}.${extension}`, code]);
      for (const [file = '', code = ''] of files) {
        // Only an ES module awaits at its top level.
        const text = extension === 'cts' ? inFunction(code) : code;
        writeFileSync(join(packed.project, file), text);
      }
      const compilerOptions = { ...STRICT, ...options };
      writeFileSync(
        join(packed.project, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: files.map(([file]) => file) }),
      );
      const { status, stdout } = compile();
      expect(stdout).toBe('');
      expect(status).toBe(0);
      expect(Object.keys(examples)).toHaveLength(5);
    },
  );

  it('cannot be tried with node10, which this TypeScript does not have any more', () => {
    const compilerOptions = { ...STRICT, module: 'commonjs', moduleResolution: 'node10' };
    writeFileSync(join(packed.project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [] }));
    expect(compile().stdout).toContain("error TS5108: Option 'moduleResolution=node10' has been removed");
  });

  function compile() {
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    return spawnSync(process.execPath, [tsc, '-p', packed.project], { encoding: 'utf8' });
  }
});

describe("the client's README", () => {
  it('lists every failure, and whether it is retryable', () => {
    const rows = [...README.matchAll(/^\| `([a-z-]+)` +\| (yes|no) +\|/gm)].map(([, type, word]) => [type, word]);
    const failures = Object.entries(FAILURES).map(([type, { retryable }]) => [type, retryable ? 'yes' : 'no']);
    expect(rows).toEqual(failures);
  });
});

const BILLING = { AWS_ACCESS_KEY_ID: 'AKIDLOCALBILLING', AWS_SECRET_ACCESS_KEY: 'local-billing-secret' };

function load(name: string, format: 'esm' | 'cjs'): string {
  return format === 'esm' ? `await import('${name}')` : `require('${name}')`;
}

/** A consumer's own tests: those of a script, as Jest takes them without a set-up. */
const IN_JEST = `
  const { createTokenBroker, TokenBrokerError } = require('token-broker-client');
  const { createFakeBroker } = require('token-broker-client/testing');
  const PAIR = { client: 'acme', service: 'customer-insights' };

  test('a token, with the standard credentials', async () => {
    const token = await createTokenBroker({ url: process.env.TOKEN_BROKER_URL }).token(PAIR);
    expect(token).toMatchObject({ tokenType: 'Bearer' });
  });
  test('a failure of the fake', async () => {
    const { broker, fail } = createFakeBroker();
    fail('credential-rejected');
    await expect(broker.token(PAIR)).rejects.toThrow(TokenBrokerError);
  });`;

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

/** All calls that a caller may write, and some that it may not. */
const CALLS = `
import { createTokenBroker, TokenBrokerError, TokenRefused } from 'token-broker-client';
import type { Caller, Check, IssuedToken, TokenBroker, TokenBrokerOptions } from 'token-broker-client';
import { createFakeBroker, type FakeBroker } from 'token-broker-client/testing';

declare const maybe: { minTtl: number | undefined; signal: AbortSignal | undefined; region: string | undefined };
const options: TokenBrokerOptions = { url: 'https://broker.example.com', region: maybe.region, cache: false };
const broker: TokenBroker = createTokenBroker(options);
const pair = { client: 'acme', service: 'customer-insights' };
const token: IssuedToken = await broker.token({ ...pair, ...maybe, deadline: Date.now() + 1_000 });
const text: string = token.accessToken;
const scope: string | undefined = token.scope;
const length: number = await broker.withToken(pair, ({ fingerprint }) => fingerprint.length);
const response: Response = await broker.fetch(new URL('https://example.com'), undefined, { ...pair, minTtl: 60 });
const check: Check = await broker.check({ ...pair, stage: 'AWSPENDING' });
const error = new TokenRefused('no', { cause: response.status });
const caught: unknown = error;
if (caught instanceof TokenBrokerError) caught.problem?.request_id?.toUpperCase();
const caller: Caller = await broker.whoami();
const fake: FakeBroker = createFakeBroker({ lifetimeSeconds: 60, caller });
fake.fail('access-denied', { times: 1 });
const faked: TokenBroker = fake.broker;
void [text, scope, length, check, faked];

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

/** Puts what follows the imports and declarations into an async function. */
function inFunction(code: string): string {
  const outside = (line: string) => /^(import|declare) /.test(line);
  const lines = code.split('\n');
  const [head, body] = [lines.filter(outside), lines.filter((line) => !outside(line))];
  return [...head, 'void async function calls() {', ...body, '};'].join('\n');
}
