-- Webhooks that have failed for so long that nothing is sent to them are counted.
CREATE INDEX webhooks_failing ON webhooks (project_no) WHERE status = 'failing';
