import { constantText } from '../../config/index.ts';
import { type ConfigReport, moduleFor } from '../../contract/index.ts';
import { setsCookie, setStickyCookie } from '../../upstream/index.ts';
import { mayCache } from '../../upstream-cache/index.ts';
import type { ProxyConfig } from './config.ts';
import { directives } from './directives/index.ts';
import { explanation } from './explanation.ts';
import { compileForwarding } from './handler.ts';
import { provision, type Provisioned } from './provision.ts';
import { addressOf } from './target.ts';
import { families, variables } from './variables.ts';

/** Checks the buffer sizes against one another, and directives that need one another (nginx ngx_http_proxy_merge_loc_conf). */
function validate(config: ProxyConfig, report: ConfigReport<ProxyConfig>): void {
  validateBuffers(config, report);
  const {
    redirects = [],
    pass,
    sslVerify,
    sslTrustedCertificate,
    sslCertificate,
    sslCertificateKey,
  } = config;
  const at = redirects.indexOf('default');
  if (pass?.kind === 'variables' && at >= 0) {
    const message = '"proxy_redirect default" cannot be used with "proxy_pass" directive with variables';
    report.phrase('redirects', message, { index: at });
  }
  const isTls = pass?.kind === 'variables' || pass?.scheme === 'https';
  if (!pass || !isTls) return;
  if (sslVerify && sslTrustedCertificate === undefined) {
    report.phrase('sslVerify', 'no proxy_ssl_trusted_certificate for proxy_ssl_verify');
  }
  if (sslCertificate !== undefined && sslCertificateKey === undefined) {
    report.phrase(
      'sslCertificate',
      `no "proxy_ssl_certificate_key" is defined for certificate "${sslCertificate.path}"`,
    );
  }
}

function validateBuffers(config: ProxyConfig, report: ConfigReport<ProxyConfig>): void {
  const { buffers, bufferSizeBytes, busyBuffersBytes, maxTempFileBytes } = config;
  if (buffers.number < 2) report.phrase('buffers', 'there must be at least 2 "proxy_buffers"');
  const largest = Math.max(bufferSizeBytes, buffers.sizeBytes);
  const busy = busyBuffersBytes ?? 2 * largest;
  const field = busyBuffersBytes === undefined ? 'bufferSizeBytes' : 'busyBuffersBytes';
  const both = 'the maximum of the value of "proxy_buffer_size" and one of the "proxy_buffers"';
  if (busy < largest)
    report.phrase(field, `"proxy_busy_buffers_size" must be equal to or greater than ${both}`);
  if (busy > (buffers.number - 1) * buffers.sizeBytes) {
    report.phrase(
      field,
      '"proxy_busy_buffers_size" must be less than the size of all "proxy_buffers" minus one buffer',
    );
  }
  if (maxTempFileBytes !== 0 && maxTempFileBytes < largest) {
    report.phrase(
      'maxTempFileBytes',
      `"proxy_max_temp_file_size" must be equal to zero to disable temporary files usage or must be equal to or greater than ${both}`,
    );
  }
}

/** nginx's proxy module: passes requests to an HTTP upstream and its responses to the client. */
export const proxy = moduleFor<ProxyConfig>()<Provisioned>({
  name: 'proxy',
  directives,
  variables,
  families,
  content: 'pass',
  enabled: ({ pass }) => pass !== undefined,
  validate,
  upstreams: ({ pass }) => (pass?.kind === 'literal' ? [{ ...addressOf(pass), field: 'pass' }] : []),
  uses(config) {
    const name = mayCache(config) ? constantText(config.cache) : undefined;
    return name === undefined ? [] : [{ kind: 'cache', name, field: 'cache' }];
  },
  provision,
  compile(config, provisioned, build) {
    if (!config.pass) return {};
    const { groups } = provisioned.upstreams;
    return {
      content: compileForwarding(config.pass, config, { provisioned, build }),
      slashRedirect: true,
      ...(groups.some(({ sticky }) => sticky && setsCookie(sticky)) && { filter: setStickyCookie }),
    };
  },
  explanation,
  rules: () => import('./rules/index.ts'),
});
