"""The backend on AWS: DynamoDB, Step Functions, S3, API Gateway's WebSockets and Parameter Store."""
