"""What runs on a schedule, or on an event of Step Functions."""
