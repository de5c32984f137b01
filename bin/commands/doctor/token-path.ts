import { ok, type Step, unknown } from './step.ts';
import { ask } from './unsigned-request.ts';

/** The two that the services' specification names, in prose and in its examples. */
const DOCUMENTED_PATHS = ['/auth/v1/token', '/oauth/token'];

/**
 * Tries both documented paths of a token endpoint with a POST that carries nothing, above all no credential: whatever
 * the one that exists answers, it is neither 404 nor 405.
 */
export async function tryTokenPaths(authUrl: string, signal: AbortSignal): Promise<Step> {
  const answers: { readonly path: string; readonly word: string; readonly isThere: boolean }[] = [];
  for (const path of DOCUMENTED_PATHS) {
    const heard = await ask(new URL(`${authUrl.replace(/\/$/, '')}${path}`), 'POST', signal);
    if ('code' in heard) answers.push({ path, word: `gives no answer (${heard.code})`, isThere: false });
    else answers.push({ path, word: `answers ${heard.status}`, isThere: heard.status !== 404 && heard.status !== 405 });
  }
  const detail = answers.map(({ path, word }) => `${path} ${word}`).join(', ');
  const [there, ...others] = answers.filter(({ isThere }) => isThere);
  if (there === undefined || others.length > 0)
    return unknown('token-path', `${detail}: this does not tell which is right`);
  return { ...ok('token-path', `${detail}: set tokenPath to ${there.path}`), tokenPath: there.path };
}
