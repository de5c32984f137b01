import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { type AwsCredentials, type Endpoint, standardAwsCredentials } from '../../../client/index.ts';
import { type Caller, parseCaller } from '../../../functions/broker/authorize.ts';
import { awsFailure } from '../aws-failure.ts';
import { failed, ok, type Step, unknown } from './causes.ts';

/** Finds the AWS credentials that a call would be signed with; none when they are missing or over. */
export async function findCredentials(): Promise<{ readonly step: Step; readonly credentials?: AwsCredentials }> {
  const step = 'aws-credentials';
  try {
    const credentials = await standardAwsCredentials()();
    const { accessKeyId, sessionToken } = credentials;
    const end =
      'expiration' in credentials && credentials.expiration instanceof Date ? credentials.expiration : undefined;
    if (end !== undefined && end.getTime() <= Date.now()) {
      return { step: failed(step, 'aws-credentials-expired', `They ended at ${end.toISOString()}`) };
    }
    const kind = sessionToken ? 'temporary ones' : 'lasting ones';
    return { step: ok(step, `${accessKeyId}, ${kind}${end ? `, until ${end.toISOString()}` : ''}`), credentials };
  } catch {
    // The chain's own words may quote a profile.
    return { step: failed(step, 'aws-credentials-missing', 'No source of AWS credentials gave any') };
  }
}

/** Asks AWS whose the credentials are. */
export async function identify(
  credentials: AwsCredentials,
  { url, region }: Endpoint,
  signal: AbortSignal,
): Promise<{ readonly step: Step; readonly caller?: Caller }> {
  const step = 'identity';
  if (url.protocol === 'http:' && !process.env.AWS_ENDPOINT_URL_STS) {
    return { step: unknown(step, 'A local broker knows its callers by itself') };
  }
  const sts = new STSClient({ region, credentials: forSdk(credentials), maxAttempts: 2, requestHandler: PATIENT });
  try {
    const { Arn = '' } = await sts.send(new GetCallerIdentityCommand({}), { abortSignal: signal });
    const caller = parseCaller(Arn);
    if (caller === undefined) return { step: failed(step, 'caller-not-a-role', `You are ${Arn}`) };
    return { step: ok(step, `You are ${Arn}`), caller };
  } catch (error) {
    const { type, detail } = awsFailure(error, { action: 'sts:GetCallerIdentity', region });
    if (type === 'aws-credentials-expired' || type === 'aws-credentials-invalid') {
      return { step: failed(step, type, detail) };
    }
    return { step: unknown(step, detail) };
  }
}

const PATIENT = { connectionTimeout: 3_000, requestTimeout: 5_000, throwOnRequestTimeout: true };

/** The same in the form that the AWS SDK takes. */
export function forSdk({ accessKeyId, secretAccessKey, sessionToken }: AwsCredentials) {
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}
