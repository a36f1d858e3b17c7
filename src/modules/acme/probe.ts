import { type AcmeIssuer, connectionFault } from '../../acme/index.ts';
import { fetchText, LateFault, withinTime } from '../../client/index.ts';
import type { LiveProblem, LiveScope } from '../../contract/index.ts';
import { isObject, parseJson } from '../../json.ts';

const MOST_BYTES = 1_048_576;

/** Asks an authority for its directory. Returns why nothing can be ordered there. */
export async function probeIssuer(
  issuer: AcmeIssuer,
  live: LiveScope,
): Promise<Pick<LiveProblem<object>, 'rule' | 'message'> | undefined> {
  const { name, uri, trusted, verifies } = issuer;
  const fault = await live.once(`acme ${uri} ${verifies} ${trusted?.path ?? ''}`, () =>
    ask(issuer, live.timeoutMs),
  );
  return fault === undefined
    ? undefined
    : {
        rule: 'acme-authority-unreachable',
        message: `nothing can be ordered from issuer "${name}": ${fault}`,
      };
}

async function ask({ uri, trusted, verifies }: AcmeIssuer, timeoutMs: number): Promise<string | undefined> {
  const trust = { ca: trusted?.text, rejectUnauthorized: verifies };
  try {
    const { status, text } = await withinTime({ timeoutMs }, (signal) =>
      fetchText(uri, { signal, mostBytes: MOST_BYTES, trust }),
    );
    const directory = status === 200 ? parseJson(text) : undefined;
    if (status !== 200) return `status ${status}`;
    return isObject(directory) && typeof directory['newOrder'] === 'string'
      ? undefined
      : 'this is no ACME directory';
  } catch (error) {
    return error instanceof LateFault ? 'no response' : connectionFault(error as Error);
  }
}
