import { type Config, ConfigError } from './config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables of OpenTelemetry come before the configuration. */
export const withTracingEnvironment = (config: Config, env: Environment): Config => {
  const { endpoint, headers, serviceName } = config.tracing;
  const given = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT || env.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (given && !/^https?:$/.test(URL.parse(given)?.protocol ?? ''))
    throw new ConfigError(`OTEL_EXPORTER_OTLP_ENDPOINT is "${given}", which is no address of HTTP.`);
  const tracing = {
    endpoint: given || endpoint,
    headers: { ...headers, ...parseHeaders(env.OTEL_EXPORTER_OTLP_HEADERS ?? '') },
    serviceName: env.OTEL_SERVICE_NAME || serviceName,
  };
  return { ...config, tracing };
};

/** `name=value,name=value`, percent-encoded. */
const parseHeaders = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split(',').flatMap((pair) => {
      const at = pair.indexOf('=');
      return at < 1 ? [] : [[pair.slice(0, at).trim().toLowerCase(), decodePercent(pair.slice(at + 1).trim())]];
    }),
  );

const decodePercent = (text: string): string =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));

/** Of the traces: some write the path behind the address, some do not. */
export const toTracesUrl = (endpoint: string): string =>
  endpoint.endsWith('/v1/traces') ? endpoint : `${endpoint.replace(/\/+$/, '')}/v1/traces`;
