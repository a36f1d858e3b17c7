import type { Report } from '../../../grammar/index.ts';
import type { PlannedServer } from '../planned-server.ts';
import { canShakeHands } from '../tls/index.ts';

/** Every TLS port needs a certificate for those who name no server (nginx: ngx_http_ssl_init). */
export function checkTlsPort(
  servers: readonly PlannedServer[],
  defaultServer: PlannedServer,
  report: Report,
): void {
  const { tls } = defaultServer.plan;
  if (tls && tls.certificates.length > 0) return;
  const bare = tls?.rejectHandshake ? servers.find(({ plan }) => !canShakeHands(plan.tls)) : defaultServer;
  if (!bare) return;
  report.emerg(
    'no "ssl_certificate" is defined for the "listen ... ssl" directive',
    bare.block.node?.name.span,
  );
}
