import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAuditLog } from './aws/audit-log.ts';
import { fingerprint } from './aws/fingerprint.ts';
import { type FunctionUrlResult, type InvocationContext, parseEvent, toResult } from './aws/function-url.ts';
import { createHttpsSender } from './aws/https-sender.ts';
import { createSecretReader, createSecretsManagerClient } from './aws/secrets-manager.ts';
import { createAuthorize } from './broker/authorize.ts';
import { createCredentials } from './broker/credentials.ts';
import { createTokenRenewer } from './broker/renewal.ts';
import { createTokenBroker } from './broker/token-broker.ts';
import { createTokenEndpoint } from './broker/token-endpoint.ts';
import { createTokenRequester } from './broker/token-request.ts';
import type { BrokerSettings } from './environment.ts';

export type TokenHandler = (event: unknown, context: InvocationContext) => Promise<FunctionUrlResult>;

interface Options {
  /** Whose secrets: `token-broker/<environment>/<client>`. */
  readonly environment: string;
  readonly settings: BrokerSettings;
  readonly write?: (line: string) => void;
}

/** Wires the adapters to the rules; each call makes a broker that shares nothing with another. */
export function createTokenFunction({ environment, settings, write = writeLine }: Options): TokenHandler {
  const now = Date.now;
  const services = new Set(Object.keys(settings.services));
  const endpoint = createTokenEndpoint({
    broker: createTokenBroker({
      services: settings.services,
      authorize: createAuthorize(settings.accessRules, services),
      credentials: createCredentials({
        readSecret: createSecretReader({ environment, secretsManager: createSecretsManagerClient() }),
        now,
      }),
      renewToken: createTokenRenewer({
        requestToken: createTokenRequester({ send: createHttpsSender(), now, sleep, random: Math.random }),
        fingerprint,
        now,
        random: Math.random,
      }),
      environment,
      uniqueId: randomUUID,
      now,
      sleep,
      random: Math.random,
    }),
    audit: createAuditLog({ environment, services, now, write }),
    now,
  });

  return async (event, context) => toResult(await endpoint(parseEvent(event, context, now())));
}

function writeLine(line: string): void {
  process.stdout.write(line);
}
