import { createDynamoDBClient } from '../../functions/aws/clients.ts';
import { createNotificationTable } from '../../functions/aws/notifications.ts';
import type { Entry } from '../../functions/broker/health/evaluate.ts';
import { NotificationFailure } from '../../functions/broker/health/notify.ts';
import { awsRegion, configuredServices, isLocal, pairTable, type TableOptions } from './environment.ts';
import { CommandFailure } from './failure.ts';
import { talk } from './output.ts';

/** By `pairKey`; a pair that is as it should be is not among them. */
export type LastFindings = ReadonlyMap<string, Entry>;

/** What the scheduled checks last told the operators; `undefined`, with a word why, when it cannot be read. */
export async function readLastFindings(options: TableOptions): Promise<LastFindings | undefined> {
  const { environment } = options;
  if (isLocal(environment) && !process.env.AWS_ENDPOINT_URL_DYNAMODB) {
    talk('With AWS_ENDPOINT_URL_DYNAMODB as npm start prints it the last findings are shown, too.');
    return undefined;
  }
  const tableName = pairTable(options);
  const region = awsRegion(options);
  const dynamodb = createDynamoDBClient({ maxAttempts: 2, ...(region && { region }) });
  const memory = createNotificationTable({ dynamodb, tableName, now: Date.now });
  try {
    const ofServices = await Promise.all(configuredServices(environment).map((service) => memory.read(service)));
    return new Map(ofServices.flatMap(({ entries }) => [...entries]));
  } catch (error) {
    if (!(error instanceof NotificationFailure || error instanceof CommandFailure)) throw error;
    talk(`The last findings cannot be read: ${error.message}`);
    return undefined;
  }
}
