import type { Logger } from 'pino';
import type { Environment, Tracing } from './tracing.ts';

/**
 * Switches traces on where the variables of OpenTelemetry request them; null otherwise. Without them none of its packages is
 * loaded.
 */
export async function openTracing(
  environment: Environment,
  version: string,
  log: Logger,
): Promise<Tracing | null> {
  if (!isRequested(environment, log)) return null;
  const { openOtelTracing } = await import('./otel-tracing.ts');
  return openOtelTracing(environment, version, log);
}

function isRequested(environment: Environment, log: Logger): boolean {
  const {
    OTEL_SDK_DISABLED: disabled = '',
    OTEL_TRACES_EXPORTER: exporter = '',
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint = '',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: tracesEndpoint = '',
  } = environment;
  if (disabled.trim().toLowerCase() === 'true' || exporter === 'none') return false;
  if (exporter !== '' && exporter !== 'otlp') {
    log.warn(`OTEL_TRACES_EXPORTER is ${JSON.stringify(exporter)}: traces are off, only "otlp" is known`);
    return false;
  }
  return exporter === 'otlp' || endpoint !== '' || tracesEndpoint !== '';
}
