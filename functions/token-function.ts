import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { createTimeBudgets } from './aws/circuit-breaker.ts';
import { createDynamoDBClient } from './aws/dynamodb-client.ts';
import { fingerprint } from './aws/fingerprint.ts';
import { type FunctionUrlResult, type InvocationContext, parseEvent, toResult } from './aws/function-url.ts';
import { createHttpsSender } from './aws/https/sender.ts';
import { createAuditLog, createUnreadableLog } from './aws/log/audit-log.ts';
import { createPairTable } from './aws/pair-table/table.ts';
import { createSealer } from './aws/sealing/sealing.ts';
import { createSealingKeys } from './aws/sealing/sealing-key.ts';
import { createSecretReader, createSecretsManagerClient } from './aws/secrets-manager.ts';
import { inTime } from './aws/time-limit.ts';
import { warmUp } from './aws/warm-up.ts';
import { type AccessRule, createAuthorize } from './broker/authorize.ts';
import { createCredentials } from './broker/credential/secret-cache.ts';
import { createTokenEndpoint } from './broker/http/token-endpoint.ts';
import { createTokenBroker } from './broker/token-broker.ts';
import { createTokenRenewer } from './broker/token-request/renew-token.ts';
import type { Send } from './broker/token-request/send.ts';
import { createTokenRequester } from './broker/token-request/token-request.ts';
import type { BrokerSettings } from './environment.ts';

export type TokenHandler = (event: unknown, context: InvocationContext) => Promise<FunctionUrlResult>;

interface Options {
  /** Whose secrets: `token-broker/<environment>/<client>`. */
  readonly environment: string;
  readonly tableName: string;
  readonly settings: BrokerSettings;
  /** ARNs of the roles that may check every client on every service, beside what the access rules say. */
  readonly checkerRoles?: readonly string[];
  /** The version of the function that runs, as Lambda calls it. */
  readonly version?: string | undefined;
  readonly write?: (line: string) => void;
  readonly secretsManager?: SecretsManagerClient;
  readonly dynamodb?: DynamoDBClient;
  /** Sends token requests. */
  readonly send?: Send;
}

export interface TokenFunction {
  readonly handler: TokenHandler;
  /** To be awaited before the first call, see `warmUp`. */
  readonly warmUp: () => Promise<void>;
}

/** Wires the adapters to the rules; each call makes a broker that shares nothing with another but what AWS holds. */
export function createTokenFunction(options: Options): TokenFunction {
  const { environment, tableName, settings, checkerRoles = [], version, write = writeLine } = options;
  const now = Date.now;
  const random = Math.random;
  const { secretsManager = createSecretsManagerClient(), dynamodb = createDynamoDBClient() } = options;
  const { send = createHttpsSender() } = options;
  const keys = createSealingKeys({ secretsManager, environment, now });
  const services = new Set(Object.keys(settings.services));
  const accessRules = [...settings.accessRules, ...checkerRoles.map(checkerRule)];
  const log = { environment, version, services, now, write };

  const table = {
    dynamodb,
    tableName,
    sealer: createSealer({ environment, keys }),
    now,
    onUnreadable: createUnreadableLog(log),
  };
  const { brief, patient } = createTimeBudgets({ now });
  const requestToken = createTokenRequester({ send, now, sleep, random });
  const broker = createTokenBroker({
    environment,
    services: settings.services,
    authorize: createAuthorize(accessRules, services),
    store: createPairTable({ ...table, withinBudget: brief }),
    patientStore: createPairTable({ ...table, withinBudget: patient }),
    credentials: createCredentials({ readSecret: createSecretReader({ environment, secretsManager, now }), now }),
    renewToken: createTokenRenewer({ requestToken, fingerprint, random, now }),
    provenForMs: settings.provenForSeconds * 1_000,
    uniqueId: randomUUID,
    now,
    sleep,
    random,
  });
  const endpoint = createTokenEndpoint({ broker, audit: createAuditLog(log), inTime, now });

  return {
    handler: async (event, context) => toResult(await endpoint(parseEvent(event, context, now()))),
    warmUp: () => warmUp({ dynamodb, tableName, keys, now }),
  };
}

function checkerRule(role: string): AccessRule {
  return { role, clients: 'all', services: 'all', operations: ['check'] };
}

function writeLine(line: string): void {
  process.stdout.write(line);
}
