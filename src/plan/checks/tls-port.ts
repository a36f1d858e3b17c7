import type { Report } from '../../../grammar/index.ts';
import type { SslConfig } from '../../contract/index.ts';
import type { PlannedServer } from '../planned-server.ts';

/** Every TLS port needs a certificate for those who name no server (nginx: ngx_http_ssl_init). */
export function checkTlsPort(
  servers: readonly PlannedServer[],
  defaultServer: PlannedServer,
  report: Report,
): void {
  const { certificates, rejectHandshake } = sslOf(defaultServer);
  if (certificates) return;
  const bare = rejectHandshake ? servers.find((server) => !canShakeHands(sslOf(server))) : defaultServer;
  if (!bare) return;
  const place = bare.block.node?.name.span;
  report.emerg('no "ssl_certificate" is defined for the "listen ... ssl" directive', place);
}

function canShakeHands({ certificates, rejectHandshake }: Partial<SslConfig>): boolean {
  return certificates !== undefined || rejectHandshake === true;
}

function sslOf({ level }: PlannedServer): Partial<SslConfig> {
  return (level.get('ssl')?.value ?? {}) as Partial<SslConfig>;
}
