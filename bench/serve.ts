import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import { build } from 'esbuild';
import { ACCEPTED_CREDENTIALS, exampleConfig } from '../bin/local/config.ts';
import { listen, stop } from '../bin/local/loopback.ts';
import { startTokenService } from '../bin/local/token-service/server.ts';
import { parseWhole } from '../client/commands/options.ts';
import { printMembers, talk } from '../client/commands/output.ts';

/** `npm run bench:serve`: data on stdout, progress on stderr. Exits with 0 measured, 1 failed, 2 wrong usage. */
const program = new Command('bench:serve')
  .description('Measures `token-broker serve` against `npm start`, with a way between them that fails as it is told.')
  .option('--hits <n>', 'how many thousand answers out of the cache', parseWhole('numbers', 1, 1_000), 100)
  .option('--minutes <n>', 'how long the broker is down, slow, lying and restarting', parseWhole('minutes', 0, 60), 10)
  .showHelpAfterError('(--help shows how)')
  .exitOverride()
  .action(run);

const KEY = 'the-key-of-this-measurement-and-of-no-other';
const FORM = 'grant_type=client_credentials&client_id=acme&scope=customer-insights';
/** A short lifetime causes renewals in every phase of an outage. */
const LIFETIME_SECONDS = 60;
const PHASES = ['up', 'down', 'slow', 'up', 'lying', 'restarting'] as const;
const PHASE_MS = 20_000;
const LIES = ['', '{', '{"access_token":"lie","expires_in":3600}', '[]', '{"access_token":["lie"]}', '\0'];

type Phase = (typeof PHASES)[number];

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}

async function run({ hits, minutes }: { readonly hits: number; readonly minutes: number }): Promise<void> {
  const load = () => loadavg().map((one) => one.toFixed(1));
  const loadBefore = load();
  const folder = await mkdtemp(join(tmpdir(), 'bench-serve-'));
  const service = await startTokenService({ credentials: ACCEPTED_CREDENTIALS, lifetimeSeconds: LIFETIME_SECONDS });
  const broker = await startBroker(join(folder, 'config.json'), service.authUrl);
  const way = await startWay(broker);
  const [billing = { accessKeyId: '', secretAccessKey: '' }] = exampleConfig(String).callers;
  const keys = { AWS_ACCESS_KEY_ID: billing.accessKeyId, AWS_SECRET_ACCESS_KEY: billing.secretAccessKey };
  const env = { ...keys, TOKEN_BROKER_URL: way.url, TOKEN_BROKER_SERVE_KEY: KEY, AWS_EC2_METADATA_DISABLED: 'true' };
  const commands = await bundleCommands();
  try {
    // Starts a process of its own, because five hundred connections at once leave buffers behind.
    const cold = await withServe([commands, env], async (serve, port) => {
      await callAtOnce(port, 500);
      return { requests: way.asked(), resident: residentMegabytes(serve) };
    });
    await withServe([commands, env], async (serve, port) => {
      talk(process, `Answers out of the cache: ${hits} 000.`);
      const startedAt = performance.now();
      await callInTurn(port, 50, hits * 20);
      const seconds = (performance.now() - startedAt) / 1_000;
      const resident = residentMegabytes(serve);

      talk(process, `Outages: ${minutes} min.`);
      const outage = await sufferOutages(port, minutes * 60_000, way, broker);
      printMembers(process, {
        'requests to the broker for 500 callers at once': cold.requests,
        'resident after those 500, MB': cold.resident,
        'answers a second': Math.round((hits * 1_000) / seconds),
        [`resident after ${hits} 000 answers, MB`]: resident,
        'resident at the end, MB': residentMegabytes(serve),
        ...outage,
        'load before and after (1, 5, 15 min)': `${loadBefore.join(' ')} / ${load().join(' ')}`,
        machine: `${availableParallelism()} processors, Node ${process.versions.node}`,
      });
    });
  } finally {
    await Promise.all([broker.end(), way.close(), service.close()]);
    await rm(folder, { recursive: true });
  }
}

type Serve = ReturnType<typeof start>;

/** Runs `work` with a new process of serve, and its port. */
async function withServe<Result>(
  [file, env]: readonly [string, Readonly<Record<string, string>>],
  work: (serve: Serve, port: number) => Promise<Result>,
): Promise<Result> {
  const serve = start([file, 'serve', '--port', '0', '--json'], env);
  try {
    const [told] = await once(serve.stdout, 'data');
    return await work(serve, Number(new URL(JSON.parse(told).url).port));
  } finally {
    serve.kill('SIGTERM');
    await once(serve, 'close');
  }
}

/** Bundles the commands as the client's package does, because reading TypeScript takes additional memory. */
async function bundleCommands(): Promise<string> {
  const [entry, outfile] = ['../client/commands/main.ts', '../node_modules/.cache/token-broker/commands.mjs'];
  const [entryPoint = '', out = ''] = [entry, outfile].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const how = { bundle: true, packages: 'external', platform: 'node', format: 'esm', target: 'node20' } as const;
  await build({ ...how, entryPoints: [entryPoint], outfile: out });
  return outfile;
}

function start([file = '', ...args]: readonly string[], env: Readonly<Record<string, string>>) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  return spawn(process.execPath, [path, ...args], { env, stdio: ['ignore', 'pipe', 'ignore'] });
}

/** Starts the broker of `npm start`, which can be stopped and started again at the same port. */
async function startBroker(file: string, authUrl: (service: string) => string) {
  const config = exampleConfig(authUrl);
  await writeFile(file, JSON.stringify(config));
  let port = '0';
  const begin = async () => {
    const begun = start(['../bin/local.ts', '--config', file], { PORT: port, HOME: tmpdir() });
    const [told] = await once(begun.stdout.setEncoding('utf8'), 'data');
    port = /http:\S+:(\d+)/.exec(told)?.[1] ?? port;
    begun.stdout.resume();
    return begun;
  };
  let child: ChildProcess = await begin();
  const end = async () => {
    child.kill('SIGINT');
    await once(child, 'close');
  };
  return {
    port: () => Number(port),
    end,
    restart: async () => {
      await end();
      child = await begin();
    },
  };
}

/** Starts a proxy between serve and the broker. It forwards requests unless it simulates another phase. */
async function startWay(broker: { readonly port: () => number }) {
  let phase: Phase = 'up';
  let asked = 0;
  /** The expiry of each token according to the broker, in epoch milliseconds. */
  const ends = new Map<string, number>();
  const server = createServer(async (incoming, response) => {
    asked += 1;
    if (phase === 'down') return void response.destroy();
    if (phase === 'lying') return void response.end(LIES[asked % LIES.length]);
    if (phase === 'slow') await setTimeout(12_000);
    passOn(incoming, response);
  });
  const url = `http://127.0.0.1:${await listen(server, 0)}`;

  function passOn(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, url: path, headers } = incoming;
    const receivedAt = Date.now();
    const outgoing = request(
      { host: '127.0.0.1', port: broker.port(), method, path, headers, agent: false },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => {
          const body = Buffer.concat(chunks);
          const { access_token: token, expires_in: seconds } = JSON.parse(`${body}`);
          // The latest time at which this token can expire.
          if (token && !ends.has(token)) ends.set(token, receivedAt + (seconds + 1) * 1_000);
          response.writeHead(answer.statusCode ?? 502, answer.headers).end(body);
        });
      },
    );
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  }

  return {
    url,
    asked: () => asked,
    endOf: (token: string) => ends.get(token) ?? 0,
    play: (next: Phase) => {
      phase = next;
    },
    close: () => stop(server),
  };
}

/** Sends a request over a new connection and returns the body of the answer. */
async function call(port: number): Promise<string> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-token-broker-key': KEY };
  const outgoing = request({ host: '127.0.0.1', port, path: '/token', method: 'POST', headers, agent: false });
  outgoing.end(FORM);
  const [answer] = await once(outgoing, 'response');
  let body = '';
  for await (const chunk of answer) body += chunk;
  return body;
}

async function callAtOnce(port: number, callers: number): Promise<void> {
  const bodies = await Promise.all(Array.from({ length: callers }, () => call(port)));
  if (!bodies.every((body) => body.includes('access_token'))) throw new Error('a caller got no token');
}

/** Runs callers with a connection each. Writes HTTP by hand, so that the generator costs less than serve. */
async function callInTurn(port: number, callers: number, calls: number): Promise<void> {
  const type = 'Content-Type: application/x-www-form-urlencoded';
  const head = `POST /token HTTP/1.1\r\nHost: localhost\r\nX-Token-Broker-Key: ${KEY}\r\n${type}`;
  const message = `${head}\r\nContent-Length: ${FORM.length}\r\n\r\n${FORM}`;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      const socket = connect(port, '127.0.0.1').setNoDelay();
      for (let call = 0; call < calls; call += 1) {
        socket.write(message);
        const [answer] = await once(socket, 'data');
        if (!answer.includes('HTTP/1.1 200')) throw new Error(`no token: ${answer}`);
      }
      socket.destroy();
    }),
  );
}

type Way = Awaited<ReturnType<typeof startWay>>;
type Broker = Awaited<ReturnType<typeof startBroker>>;

/** Sends calls from ten callers while the broker repeats its phases. */
async function sufferOutages(port: number, ms: number, way: Way, broker: Broker) {
  const until = Date.now() + ms;
  const before = way.asked();
  const counts = { tokens: 0, problems: 0, expired: 0 };
  const callers = Array.from({ length: 10 }, async () => {
    while (Date.now() < until) {
      const { access_token: token } = JSON.parse(await call(port));
      counts[token ? 'tokens' : 'problems'] += 1;
      if (token && Date.now() > way.endOf(token)) counts.expired += 1;
      await setTimeout(50);
    }
  });
  for (let index = 0; Date.now() < until; index += 1) {
    const phase = PHASES[index % PHASES.length] ?? 'up';
    way.play(phase);
    if (phase === 'restarting') await broker.restart();
    await setTimeout(Math.min(PHASE_MS, Math.max(0, until - Date.now())));
  }
  way.play('up');
  await Promise.all(callers);
  return { ...counts, 'requests to the broker': way.asked() - before };
}

function residentMegabytes({ pid }: ChildProcess): number {
  return Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', `${pid}`], { encoding: 'utf8' })) / 1_024);
}
