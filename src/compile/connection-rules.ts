import type { Build, CoreConfig } from '../contract/index.ts';
import { isMsie6 } from '../http/index.ts';
import type { ConnectionRules } from '../http/index.ts';

const SAFARI = /^(?!.*(?:MSIE |Opera|Gecko\/|Chrome\/))(?=.*Safari\/).*Mac OS X/;

/** The `keepalive_*` and `lingering_*` directives of a location. */
export function connectionRules(core: CoreConfig, build: Build): ConnectionRules {
  const { idleMs, headerSeconds = 0 } = core.keepaliveTimeout;
  return {
    keepalive: idleMs > 0 && core.keepaliveRequests > 0,
    idleMs,
    maxRequests: core.keepaliveRequests,
    lifeMs: core.keepaliveTimeMs,
    keepaliveHeader: headerSeconds > 0 ? `timeout=${headerSeconds}` : undefined,
    closesFor: compileClosesFor(core, build),
    lingering: {
      mode: core.lingeringClose,
      timeMs: core.lingeringTimeMs,
      silenceMs: core.lingeringTimeoutMs,
    },
    resetsTimedOut: core.resetTimedoutConnection,
  };
}

/** Browsers by their `User-Agent`, as nginx tells them apart (ngx_http_process_user_agent). */
function compileClosesFor({ keepaliveDisable }: CoreConfig, build: Build): ConnectionRules['closesFor'] {
  if (keepaliveDisable.length === 0) return undefined;
  build.needHeader('user-agent');
  const noMsie6 = keepaliveDisable.includes('msie6');
  const noSafari = keepaliveDisable.includes('safari');
  return (x) => {
    const agent = x.header('user-agent') ?? '';
    return (noMsie6 && x.requestMethod === 'POST' && isMsie6(agent)) || (noSafari && SAFARI.test(agent));
  };
}
