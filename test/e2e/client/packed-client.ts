import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startLocalBroker } from '../../support/local-broker.ts';
import { startNpmRegistry } from '../../support/npm-registry.ts';

export interface PackedClient {
  readonly tarball: string;
  /** A project outside of this repository that has the client and nothing else. */
  readonly project: string;
  /** Runs lines of JavaScript in the project, beside a broker, as a module of either kind; gives what they print. */
  readonly run: (lines: string, options: RunOptions) => Promise<unknown>;
  /** Where in the project it is. */
  readonly installed: string;
  /** Runs its command line in the project, for a broker as `npm start` makes it. */
  readonly command: (args: readonly string[], options: RunOptions) => Promise<Finished>;
  /** Runs a file of tests in the project with Jest, beside the same broker. */
  readonly jest: (tests: string, options: RunOptions) => Promise<Finished>;
  readonly close: () => Promise<void>;
}

interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly node: string | undefined;
  readonly format?: 'esm' | 'cjs';
  readonly env?: Readonly<Record<string, string>>;
}

/** Packs the client as after a fresh clone, and installs it as a caller does. */
export async function installPackedClient(): Promise<PackedClient> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'client-package-')));
  const [registry, broker] = await Promise.all([startNpmRegistry(), startLocalBroker()]);
  const npm = isolatedNpm(folder, registry.url);

  const clone = join(folder, 'clone');
  copyKnownFiles(clone);
  await npm(join(clone, 'client'), 'pack', '--pack-destination', folder);
  const tarball = join(folder, readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '');

  const project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  const typings = `@types/node@${versionOf('@types/node')}`;
  await npm(project, 'install', '--ignore-scripts', '--no-audit', '--no-fund', tarball, typings);

  /** Runs a program of Node in the project, for a broker as `npm start` makes it. */
  function execute(program: string, args: readonly string[], { node = '', env = {} }: RunOptions): Promise<Finished> {
    const isolated = { HOME: folder, AWS_EC2_METADATA_DISABLED: 'true', TOKEN_BROKER_URL: broker.url, ...env };
    return new Promise((resolve) => {
      const child = execFile(node, [program, ...args], { cwd: project, env: isolated }, (_, stdout, stderr) =>
        resolve({ exitCode: child.exitCode, stdout, stderr }),
      );
    });
  }

  return {
    tarball,
    project,
    run: async (lines, { node = '', format = 'esm', env = {} }) => {
      const script = format === 'esm' ? 'script.mjs' : 'script.cjs';
      writeFileSync(join(project, script), IMPORTS[format] + callsOf(broker.url, lines));
      const isolated = { HOME: folder, AWS_EC2_METADATA_DISABLED: 'true', ...env };
      const { stdout, stderr } = await promisify(execFile)(node, [script], { cwd: project, env: isolated });
      if (stderr !== '') throw new Error(stderr);
      return JSON.parse(stdout);
    },
    installed: join(project, 'node_modules/token-broker-client'),
    command: (args, options) => execute(join(project, 'node_modules/.bin/token-broker-client'), args, options),
    jest: (tests, options) => {
      writeFileSync(join(project, 'consumer.test.cjs'), tests);
      const config = { rootDir: project, testMatch: ['**/consumer.test.cjs'], cacheDirectory: join(folder, 'jest') };
      const program = fileURLToPath(import.meta.resolve('jest/bin/jest'));
      return execute(program, ['--config', JSON.stringify(config), '--runInBand'], options);
    },
    close: async () => {
      await Promise.all([registry.close(), broker.end()]);
      rmSync(folder, { recursive: true });
    },
  };
}

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** The version of a package that is installed here. */
export function versionOf(name: string): string {
  return JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version;
}

/** What git knows of, and what `npm ci` brings: nothing is built. */
function copyKnownFiles(clone: string): void {
  const known = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const needed = ['client', 'functions/contract.ts', 'package.json', 'tsconfig.json'];
  for (const file of execFileSync('git', [...known, ...needed], { cwd: ROOT, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean)) {
    mkdirSync(dirname(join(clone, file)), { recursive: true });
    if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(clone, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
}

/** With nothing of this machine's npm set-up, and nothing of what it has stored. */
function isolatedNpm(folder: string, registry: string) {
  const userConfig = join(folder, 'npmrc');
  writeFileSync(userConfig, '');
  const isolated = ['--registry', registry, '--cache', join(folder, 'cache'), '--userconfig', userConfig];
  return (cwd: string, ...args: readonly string[]) =>
    promisify(execFile)('npm', [...args, ...isolated], { cwd, env: { PATH: process.env.PATH, HOME: folder } });
}

const IMPORTS = {
  esm: "import Module from 'node:module'; import { createTokenBroker } from 'token-broker-client';",
  cjs: "const Module = require('node:module'); const { createTokenBroker } = require('token-broker-client');",
};

function callsOf(url: string, lines: string): string {
  return `
    const PAIR = { client: 'acme', service: 'customer-insights' };
    const url = ${JSON.stringify(url)};
    const node = process.versions.node.split('.')[0];
    function print(told) {
      const hasLoadedChain = Object.keys(Module._cache).some((file) => file.includes('credential-provider-node'));
      console.log(JSON.stringify({ node, hasLoadedChain, ...told }));
    }
    (async () => { ${lines} })();`;
}
