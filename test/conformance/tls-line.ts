import { connect, type ConnectionOptions, type SecureVersion } from 'node:tls';
import type { Certificates } from '../harness/certificates.ts';
import { connectRaw } from '../harness/raw.ts';
import { maskPort } from './mask-port.ts';
import { PRODUCT } from './product.ts';

const PADDING = /<!-- a padding to disable MSIE and Chrome friendly error page -->/g;
const NAMED: Readonly<Record<string, string>> = { '\\r': '\r', '\\n': '\n' };

/**
 * Makes a connection as its words say (`sni=`, `client=` for a certificate, `min=` and `max=` for versions, `ciphers=`,
 * `curve=`, `alpn=`, or `plain`), sends the rest, and shows what came back: `NAME KEY: status location body`, or the code of an error.
 */
export async function tlsLine(port: number, words: string, certificates: Certificates): Promise<string> {
  const [, setup = '', text = ''] = /^((?:(?:[a-z]+=\S+|plain) )*)(.*)$/.exec(words.trimStart()) ?? [];
  const bytes = text.replaceAll(/\\[rn]/g, (code) => NAMED[code] ?? code);
  const values = new Map(
    setup
      .trim()
      .split(' ')
      .map((word) => word.split(/=(.*)/s, 2) as [string, string]),
  );
  const response = values.has('plain')
    ? await plain(port, bytes)
    : await secure(optionsOf(values, certificates), { port, bytes });
  return maskPort(response, port);
}

function optionsOf(values: ReadonlyMap<string, string>, certificates: Certificates): ConnectionOptions {
  const [sni, client] = [values.get('sni'), values.get('client')];
  const [min, max] = [values.get('min'), values.get('max')];
  const [ciphers, curve, alpn] = [values.get('ciphers'), values.get('curve'), values.get('alpn')];
  return {
    rejectUnauthorized: false,
    ...(sni !== undefined && { servername: sni }),
    ...(client !== undefined && {
      cert: certificates.read(`${client}.crt`),
      key: certificates.read(`${client}.key`),
    }),
    ...(min !== undefined && { minVersion: min as SecureVersion }),
    ...(max !== undefined && { maxVersion: max as SecureVersion }),
    ...(ciphers !== undefined && { ciphers }),
    ...(curve !== undefined && { ecdhCurve: curve }),
    ...(alpn !== undefined && { ALPNProtocols: alpn.split(',') }),
  };
}

async function plain(port: number, bytes: string): Promise<string> {
  const connection = await connectRaw(port);
  connection.write(bytes);
  return shown(await connection.closed);
}

function secure(
  options: ConnectionOptions,
  { port, bytes }: { port: number; bytes: string },
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', ...options });
    let received = '';
    let subject = '';
    socket.on('secureConnect', () => {
      const { subject: names, asn1Curve } = socket.getPeerCertificate() as {
        subject: { CN: string };
        asn1Curve?: string;
      };
      subject = `${names.CN} ${asn1Curve ?? 'RSA'}: `;
      socket.write(bytes);
    });
    socket.setEncoding('utf8').on('data', (text: string) => (received += text));
    socket.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(subject + (received === '' ? String(code) : shown(received))),
    );
    socket.on('close', () => resolve(subject + shown(received)));
  });
}

/** Status, location and body. */
function shown(received: string): string {
  const [head = '', ...rest] = received.replaceAll(/^Date: .*\r\n/gm, '').split('\r\n\r\n');
  const body = rest
    .join(' ; ')
    .replaceAll('\r\n', ' ')
    .replaceAll(PADDING, '')
    .replaceAll(PRODUCT, 'PRODUCT');
  const title = /<title>(.*)<\/title>/.exec(body)?.[1];
  const status = /^HTTP\/1\.1 (\d+)/.exec(head)?.[1] ?? 'closed';
  const location = /^Location: (.*)$/im.exec(head)?.[1];
  return [status, location, title === undefined ? body : `<${title}>`].filter(Boolean).join(' ');
}
