import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { withTimeLimit } from './aws/calls.ts';
import { createDynamoDB, type DynamoDB } from './aws/dynamodb.ts';
import { type FunctionUrlResult, type InvocationContext, parseEvent, toResult } from './aws/function-url.ts';
import { createHttpsSender } from './aws/https/sender.ts';
import { createAuditLog, createUnreadableLog } from './aws/log/audit-log.ts';
import { writeLine } from './aws/log/write-line.ts';
import { createCircuitBreaker, type StoreLimits } from './aws/pair-table/circuit-breaker.ts';
import { createPairTable } from './aws/pair-table/table.ts';
import { createSealer } from './aws/sealing/sealing.ts';
import { createSealingKeys } from './aws/sealing/sealing-key.ts';
import { createSecretReader, createSecretsManager, type SecretsManager } from './aws/secrets-manager.ts';
import { createRulesOf, roleKey } from './broker/authorize.ts';
import { createSecretCache } from './broker/credential/secret.ts';
import { createTokenEndpoint } from './broker/http/token-endpoint.ts';
import { createObtainToken } from './broker/pair/obtain-token.ts';
import { createTokenBroker } from './broker/token-broker.ts';
import type { SendHttp } from './broker/token-request/send-http.ts';
import { createTokenRequester } from './broker/token-request/token-request.ts';
import { type BrokerSettings, rulesDigest, settingsDigest, shortDigest } from './variables.ts';

interface Options {
  readonly environment: string;
  readonly tableName: string;
  readonly settings: BrokerSettings;
  /** ARNs of the roles that may check every client on every service, in addition to the access rules. */
  readonly checkerRoles?: readonly string[];
  /** ARN of the role whose requests must be refused. */
  readonly probeRole?: string;
  readonly version?: string | undefined;
  readonly write?: (line: string) => void;
  readonly secretsManager?: SecretsManager;
  readonly dynamodb?: DynamoDB;
  readonly send?: SendHttp;
  /** Longer limits are for a machine whose processors are shared. */
  readonly storeLimits?: StoreLimits | undefined;
}

/** Wires the adapters to the rules. Two brokers share only the state that AWS stores. */
export function createTokenFunction(options: Options) {
  const { environment, tableName, settings, checkerRoles = [], probeRole, version, write = writeLine } = options;
  const now = Date.now;
  const random = Math.random;
  const aws = createHttpsSender({ keepAlive: true });
  const {
    secretsManager = createSecretsManager({ send: aws, environment }),
    dynamodb = createDynamoDB({ send: aws, environment }),
    send = createHttpsSender(),
  } = options;
  const keys = createSealingKeys({ secretsManager, environment, now });
  const services = new Set(Object.keys(settings.services));
  const { principalOrgId, provenForSeconds, sloWithinMs } = settings;
  const all = { clients: 'all', services: 'all', operations: ['check'] } as const;
  const accessRules = [...settings.accessRules, ...checkerRoles.map((role) => ({ role, ...all }))];
  const rulesOf = createRulesOf(accessRules, principalOrgId);
  // The release check requests a token on purpose and must be refused.
  const refusedRoles = new Set([...checkerRoles, probeRole].flatMap((role) => (role ? [roleKey(role)] : [])));
  const digest = rulesDigest(settings);
  const log = { environment, version, services, rulesDigest: digest, refusedRoles, sloWithinMs, now, write };

  const requestToken = createTokenRequester({ sendHttp: send, now, sleep, random });
  const sealer = createSealer(environment, keys);
  const broker = createTokenBroker({
    environment,
    services: settings.services,
    rulesOf,
    store: createPairTable({
      dynamodb,
      tableName,
      sealer,
      now,
      breakerFor: (operation) => createCircuitBreaker(operation, now, options.storeLimits),
      onUnreadable: createUnreadableLog(log),
    }),
    secrets: createSecretCache({ readSecret: createSecretReader({ environment, secretsManager, now }), now }),
    obtainToken: createObtainToken({ requestToken, fingerprint: shortDigest, random, now }),
    settingsDigest,
    provenForMs: provenForSeconds * 1_000,
    uniqueId: randomUUID,
    now,
    sleep,
    random,
  });
  const endpoint = createTokenEndpoint({ broker, rulesOf, rulesDigest: digest, audit: createAuditLog(log), now });

  return {
    handler: async (event: unknown, context: InvocationContext): Promise<FunctionUrlResult> =>
      toResult(await endpoint(parseEvent(event, context, now()))),
    /**
     * Reads the sealing key and an item of the table before a caller waits, which opens the connections to both. Never
     * fails, and ends within `timeoutMs`: the first call repeats a read that was too slow.
     */
    async readFirst(timeoutMs = FIRST_READS_MS): Promise<void> {
      // No pair has this key, because keys of pairs contain a slash.
      const look = { TableName: tableName, Key: { pair: { S: 'first-read' } } };
      await Promise.allSettled([
        withTimeLimit(timeoutMs, (abortSignal) => dynamodb.getItem(look, abortSignal)),
        withTimeLimit(timeoutMs, () => keys.current(now() + timeoutMs)),
      ]);
    },
  };
}

export type TokenFunction = ReturnType<typeof createTokenFunction>;

const FIRST_READS_MS = 300;
