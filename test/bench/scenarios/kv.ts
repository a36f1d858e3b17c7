import { call } from '../../harness/http.ts';
import { luaRedis, startNginx } from '../nginx.ts';
import type { Bench } from '../bench.ts';
import { startWebdis } from '../peers/index.ts';
import type { Scenario } from '../scenario.ts';
import { type Server, startGw, startRedis } from '../servers.ts';
import { httpLoad } from '../target.ts';

const VALUE = 'v'.repeat(100);

/** One key of one Redis, read through all gateways; the CPU time of Redis counts for each. */
export const keyRead: Scenario = {
  name: 'kv',
  async open(bench) {
    const redis = await startRedis(bench);
    const pass = `kv_pass 127.0.0.1:${redis.port};`;
    const gw = await startGw(
      bench,
      `location /GET/ { ${pass} kv_key $arg_key; }
       location /SET { ${pass} kv_command set; kv_key key; }`,
    );
    const { status, body } = await call(gw.port, '/SET', { method: 'POST', body: VALUE });
    if (status !== 200) throw new Error(`the gateway answers a set with ${status}: ${body}`);
    const load = (name: string, { port, pid }: Server, path: string) =>
      httpLoad(bench, { name, port, requests: [{ path }], servers: [pid, redis.pid] });
    return {
      subject: load('gw kv', gw, '/GET/?key=key'),
      peers: [
        {
          line: 'kv get / Webdis',
          goal: 2,
          aim: 2.4,
          open: async () => load('webdis', await startWebdis(bench, redis.port), '/GET/key'),
        },
        {
          line: 'kv get / nginx + lua-resty-redis',
          note: 'nginx sends the value alone, gw JSON',
          open: async () => load('lua', await startLua(bench, redis), '/?key=key'),
        },
      ],
    };
  },
};

/** As the documentation of lua-resty-redis has it: connections go back to a pool of as many as there are clients. */
function startLua(bench: Bench, { port }: Server): Promise<Server> {
  const { modules, http, name } = luaRedis();
  const server = `location / {
    content_by_lua_block {
      local redis = require("${name}"):new()
      redis:set_timeout(1000)
      local connected, fault = redis:connect("127.0.0.1", ${port})
      if not connected then ngx.log(ngx.ERR, fault); return ngx.exit(502) end
      local value, fault = redis:get(ngx.var.arg_key)
      if not value then ngx.log(ngx.ERR, fault); return ngx.exit(502) end
      redis:set_keepalive(10000, 64)
      if value == ngx.null then return ngx.exit(404) end
      ngx.print(value)
    }
  }`;
  return startNginx(bench, { http, server }, { modules });
}
