import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startOwnBroker } from '../../support/processes/local-broker.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ROOT, runCommandLine } from '../commands/shared/command-line.ts';
import { GO, JAVA, type Language, PYTHON, startProgram } from '../docs/languages/languages.ts';

/**
 * Version 1.1.0: `package`, as `npm pack` made it from the client, without CommonJS and types; three files to copy;
 * `generated.mjs`, which @hey-api/openapi-ts and esbuild made of its docs/openapi.yaml.
 */
const CALLERS = fileURLToPath(new URL('callers-1.1.0.tar.gz', import.meta.url));

const [WARM, COLD] = ['acme customer-insights', 'acme merchant-payment-cleansing'];

// Each program reads pairs, and answers each with a line: the token, or the failure.
const NODE = `
import { createInterface } from 'node:readline';
import { createTokenBroker } from 'token-broker-client';
const broker = createTokenBroker({ url: process.env.TOKEN_BROKER_URL, region: 'us-east-1', maxAttempts: 1 });
for await (const line of createInterface(process.stdin)) {
  const [client, service] = line.split(' ');
  const { accessToken, message, retryable } = await broker.token({ client, service }).catch((error) => error);
  console.log(accessToken ?? message + ', retryable: ' + retryable);
}`;

const GENERATED = `
import { createInterface } from 'node:readline';
import { AwsClient } from 'aws4fetch';
import { client, issueToken } from './generated.mjs';
const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, TOKEN_BROKER_URL } = process.env;
const aws = new AwsClient({ accessKeyId, secretAccessKey, service: 'lambda', region: 'us-east-1', retries: 0 });
client.setConfig({ baseUrl: TOKEN_BROKER_URL, fetch: (request) => aws.fetch(request) });
for await (const line of createInterface(process.stdin)) {
  const [client, service] = line.split(' ');
  const { data, error } = await issueToken({ body: { client, service } });
  console.log(data?.access_token ?? error.type + ': ' + error.detail + ', retryable: ' + error.retryable);
}`;

const PYTHON_PROGRAM = `
import os, sys
from token_broker import TokenBroker, TokenBrokerError
broker = TokenBroker(os.environ["TOKEN_BROKER_URL"], sleep=lambda seconds: None)
for line in sys.stdin:
    try:
        print(broker.token(*line.split())["access_token"], flush=True)
    except TokenBrokerError as error:
        print(f"{error}, retryable: {error.retryable}".lower(), flush=True)
`;

const GO_PROGRAM = `package main

import ("bufio"; "context"; "fmt"; "os"; "strings"; "github.com/aws/aws-sdk-go-v2/aws")

func main() {
	keys := aws.Credentials{AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}
	provider := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return keys, nil })
	brokers := map[string]*BrokerToken{}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		pair := strings.Split(lines.Text(), " ")
		if brokers[pair[1]] == nil {
			brokers[pair[1]] = &BrokerToken{URL: os.Getenv("TOKEN_BROKER_URL"), Region: "us-east-1",
				Client: pair[0], Service: pair[1], Keys: provider}
		}
		if token, err := brokers[pair[1]].Get(context.Background()); err != nil {
			fmt.Println(err)
		} else {
			fmt.Println(token)
		}
	}
}
`;

const JAVA_PROGRAM = `
class Main {
    public static void main(String[] args) throws Exception {
        var broker = new TokenBroker(System.getenv());
        for (var lines = new java.util.Scanner(System.in); lines.hasNextLine(); ) {
            var pair = lines.nextLine().split(" ");
            try {
                System.out.println(broker.token(pair[0], pair[1]));
            } catch (TokenBroker.Failure failure) {
                System.out.println(failure.getMessage());
            }
        }
    }
}
`;

interface Caller extends Pick<Language, 'isThere' | 'program' | 'compile' | 'command'> {
  readonly name: string;
  readonly text: string;
}

const OF_NODE = { isThere: true, program: 'main.mjs', command: [process.execPath, 'main.mjs'] };
const EARLIER: readonly Caller[] = [
  { name: 'the client', ...OF_NODE, text: NODE },
  { name: 'a client that openapi-ts generated', ...OF_NODE, text: GENERATED },
  { name: 'token_broker.py', ...PYTHON, text: PYTHON_PROGRAM },
  { name: 'token_broker.go', ...GO, text: GO_PROGRAM },
  { name: 'TokenBroker.java', ...JAVA, text: JAVA_PROGRAM },
];

const missing = EARLIER.filter(({ isThere }) => !isThere).map(({ name }) => name);
const skipped = missing.length > 0 ? ` (skipped: ${missing} cannot run here)` : '';

it(`callers of 1.1.0 keep their token while the table is away, and name the problem that they do not know${skipped}`, async () => {
  const broker = await startOwnBroker();
  const operate = (command: string) =>
    runCommandLine(command.split(' '), { ...broker.shell('operator'), AWS_SESSION_TOKEN: '' });
  const callers = EARLIER.filter(({ isThere }) => isThere).map((caller) => start(caller, broker.shell()));
  const askAll = (pair: string) => Promise.all(callers.map((ask) => ask(pair)));
  const tokens = await askAll(WARM);
  expect(new Set(tokens)).toEqual(new Set([expect.stringMatching(/^[^ ]+$/)]));

  await operate('service --table-down');
  for (const away of await askAll(COLD)) {
    expect(away).toMatch(/^table-unavailable\b.*The broker cannot reach its table/i);
    if (away.includes('retryable')) expect(away).toMatch(/, retryable: true$/);
  }
  expect(await askAll(WARM)).toEqual(tokens);

  await operate('service --recover');
  // The circuit of the instance is open for ten seconds.
  broker.passMinute();
  await expect
    .poll(() => askAll(COLD), { timeout: 20_000 })
    .toEqual(tokens.map(() => expect.not.stringContaining(' ')));
});

/** Starts the program of a caller in a project with the files of 1.1.0. Returns the function that asks it. */
function start(caller: Caller, variables: Variables) {
  const folder = temporaryFolder();
  execFileSync('tar', ['-xzf', CALLERS, '-C', folder]);
  for (const name of ['@aws-sdk/credential-provider-node', '@smithy/signature-v4', 'aws4fetch']) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  }
  symlinkSync(join(folder, 'package'), join(folder, 'node_modules/token-broker-client'));
  const child = startProgram(caller, caller.text, folder, variables);
  onTestFinished(() => void child.kill());
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return async (pair: string): Promise<string> => {
    child.stdin.write(`${pair}\n`);
    return (await lines.next()).value ?? 'the program has ended';
  };
}

type Variables = Readonly<Record<string, string>>;
