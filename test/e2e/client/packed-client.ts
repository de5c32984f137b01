import { execFileSync, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { startLocalBroker } from '../../support/processes/local-broker.ts';
import { finished, ROOT } from '../commands/shared/command-line.ts';

export type PackedClient = Awaited<ReturnType<typeof installPackedClient>>;

/** Packs the client as after a fresh clone, and unpacks it into a project with its dependencies and no others. */
export async function installPackedClient() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'client-package-')));
  const [clone, project] = [join(folder, 'clone'), join(folder, 'project')];
  const filter = (path: string) => !path.endsWith('client/dist');
  const functions = ['vocabulary.ts', 'service-url.ts', 'sigv4.ts', 'broker'].map((name) => `functions/${name}`);
  for (const needed of ['client', ...functions, 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, needed), join(clone, needed), { recursive: true, filter });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  const ofNpm = { cwd: join(clone, 'client'), env: { PATH: process.env.PATH, HOME: folder } };
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], ofNpm);
  const tarball = join(folder, readdirSync(folder).find((file) => file.endsWith('.tgz')) ?? '');

  const installed = join(project, 'node_modules/token-broker-client');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
    mkdirSync(dirname(join(project, 'node_modules', name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name));
  }

  const broker = await startLocalBroker();
  const variables = { HOME: folder, AWS_EC2_METADATA_DISABLED: 'true', TOKEN_BROKER_URL: broker.url };
  return {
    tarball,
    project,
    installed,
    manifest,
    /** Runs a program with a Node in the project, for a broker as `npm start` makes it. */
    run: (node = '', args: readonly string[], env: Readonly<Record<string, string>>) =>
      finished(spawn(node, args, { cwd: project, env: { ...variables, ...env } })),
    close: async () => {
      await broker.end();
      rmSync(folder, { recursive: true });
    },
  };
}
