import { get, type IncomingMessage } from 'node:http';
import { setTimeout as later } from 'node:timers';

/** nginx's timeout for a responder. */
const TIMEOUT_MS = 60_000;
const MAX_BYTES = 65_536;

/**
 * As in nginx, lines of the head may end with a bare line feed. Node's parser accepts that only with all its other
 * leniencies. Smuggling is impossible: a connection carries one response, and the response is signed.
 */
const ASKING = { agent: false, insecureHTTPParser: true } as const;

/** Sends a request to a responder (RFC 6960, A.1). Rejects with a reason in one line. */
export function askResponder(url: string, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const base = url.endsWith('/') ? url : `${url}/`;
    const asking = get(`${base}${encodeURIComponent(request.toString('base64'))}`, ASKING);
    const timer = later(() => asking.destroy(new Error('OCSP responder timed out')), TIMEOUT_MS);
    asking.on('error', reject);
    asking.on('close', () => clearTimeout(timer));
    asking.on('response', (response) => void readBody(response).then(resolve, reject));
  });
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const { statusCode, headers } = response;
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    if (statusCode !== 200) throw new Error(`OCSP responder sent the status ${statusCode}`);
    if (headers['content-type'] !== 'application/ocsp-response')
      throw new Error('OCSP responder sent invalid "Content-Type" header');
    for await (const piece of response as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > MAX_BYTES) throw new Error('OCSP responder sent too long a response');
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  } finally {
    response.destroy();
  }
}
