import { LateFault, withinTime } from '../../client/index.ts';
import type { LiveProblem, LiveScope } from '../../contract/index.ts';
import { fetchDocuments, type IssuerSource } from '../../issuer/index.ts';
import { isObject, parseJson } from '../../json.ts';
import { metadataFault } from './provider-client.ts';

/** Asks a provider for its metadata and keys. Returns why nobody can log in there. */
export async function probeProvider(
  { name, source }: { readonly name: string; readonly source: IssuerSource },
  live: LiveScope,
): Promise<Pick<LiveProblem<object>, 'rule' | 'message'> | undefined> {
  const fault = await live.once(`auth_oidc ${JSON.stringify(source)}`, () =>
    askProvider(source, live.timeoutMs),
  );
  return fault === undefined
    ? undefined
    : { rule: 'provider-unreachable', message: `nobody can log in at "${name}": ${fault}` };
}

async function askProvider(source: IssuerSource, timeoutMs: number): Promise<string | undefined> {
  try {
    const { metadata } = await withinTime({ timeoutMs }, (signal) => fetchDocuments(source, signal));
    const members = parseJson(metadata);
    return metadataFault(isObject(members) ? members : {});
  } catch (error) {
    return error instanceof LateFault ? 'no response' : (error as Error).message;
  }
}
