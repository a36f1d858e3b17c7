import { X509Certificate } from 'node:crypto';
import { splitPem } from '../../system/index.ts';
import { malformed } from './fault.ts';
import type { AcmeResponse } from './requests.ts';
import type { ResourceReader } from './resources.ts';

/** Chains that are looked at besides the first. */
const MOST_ALTERNATES = 8;

/** Fetches the chains of a certificate one after the other: the first, then its alternates (RFC 8555, 7.4.2). */
export async function* chainsOf(
  first: AcmeResponse,
  {
    url,
    reader,
    fetched,
  }: {
    /** Of the first chain: others may stand there relative to it. */
    readonly url: string;
    readonly reader: ResourceReader;
    readonly fetched: (url: string) => Promise<AcmeResponse>;
  },
): AsyncGenerator<string> {
  yield first.text;
  for (const target of alternatesIn(first.link).slice(0, MOST_ALTERNATES)) {
    const other = URL.canParse(target, url) ? new URL(target, url).href : target;
    yield (await fetched(reader.url(other, 'the link of another chain'))).text;
  }
}

/** The targets of the links of a header that have the relation `alternate` (RFC 8288, 3). */
function alternatesIn(header: string): string[] {
  const links = header.matchAll(/<([^<>]*)>((?:\s*;\s*[\w*]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s",;]*))*)/g);
  return [...links].flatMap(([, target = '', parameters = '']) => {
    const [, quoted, plain = ''] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;]*))/i.exec(parameters) ?? [];
    return (quoted ?? plain).toLowerCase().split(/\s+/).includes('alternate') ? [target] : [];
  });
}

/** The first chain whose last certificate is signed by an authority with this common name, else the very first. */
export async function choose(name: string, chains: AsyncIterable<string>): Promise<string> {
  let first: string | undefined;
  for await (const chain of chains) {
    first ??= chain;
    const last = splitPem(chain, 'CERTIFICATE').at(-1) ?? '';
    if (certificateOf(last)?.issuer.split('\n').includes(`CN=${name}`)) return chain;
  }
  return first ?? '';
}

/** The first certificate of a chain, in DER. */
export function derOf(chain: string): Buffer {
  const certificate = certificateOf(chain);
  if (!certificate) throw malformed('no certificate');
  return certificate.raw;
}

function certificateOf(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
