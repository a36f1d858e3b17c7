import { expect, test } from 'vitest';
import { startDnsServer } from '../../harness/dns-server.ts';
import { startGateway } from '../../harness/gateway.ts';
import { HAS_PEBBLE, startPebble } from '../../harness/pebble.ts';
import { freePorts, shownCertificate } from './ordering.ts';

const ISSUED = /certificate "a\.test" of issuer "le": issued, valid until/;

test.runIf(HAS_PEBBLE)('Pebble issues a certificate by http-01, and refuses every fifth nonce', async (t) => {
  const ports = await freePorts();
  const dns = await startDnsServer(t, { 'a.test': { addresses: ['127.0.0.1'] } });
  const pebble = await startPebble(t, {
    httpPort: ports.plain,
    tlsPort: ports.tls,
    dns: `127.0.0.1:${dns.port}`,
    nonceRejections: 10,
  });
  const conf = `acme_issuer le { uri ${pebble.url}; accept_terms_of_service; ssl_trusted_certificate ${pebble.caFile}; }
    server { listen 127.0.0.1:${ports.plain}; listen 127.0.0.1:${ports.tls} ssl; server_name a.test; acme_certificate le; }`;
  const gw = await startGateway(t, conf, { port: ports.plain, fresh: true });
  await gw.waitForLog(ISSUED);
  const shown = await shownCertificate(ports.tls, 'a.test');
  expect(shown?.subjectAltName).toBe('DNS:a.test');
  expect((await pebble.certStatus(shown?.serialNumber ?? '')).Status).toBe('Valid');
});
